"""Texts that somebody edits between a plan and its undo, and the rules of the undo said again.

``random_executed`` makes what a plan did, ``marked`` and ``rewritten`` what others did then, and
``faults`` what is wrong with an undo, place by place, as slowly as it reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from context_search_editing.rules.edits import Edit, apply_edits
from context_search_editing.rules.relocation import Undo

AROUND = 16
OWN = "ab林😀\u0301"
MARKS = "①②③"
"""Characters that only others write."""
SHORT = ["a", "b", "ab", "ba", "林", "林林", "😀", "e\u0301", "aaaa", "👩\u200d👧"]
Executed = tuple[str, list[Edit], str]
"""A text, edits of it, and what they make of it."""


def random_executed(random: Random) -> Executed:
    """Texts of few blocks that repeat; deletions and insertions, also side by side."""
    few = random.sample(OWN, random.randint(1, len(OWN)))
    blocks = ["".join(random.choices(few, k=random.choice([0, 1, 5, 20, 60]))) for _ in range(4)]
    before, after, edits = "", "", []
    for _ in range(random.randint(1, 8)):
        between = "".join(random.choices([*blocks, ""], k=random.randint(0, 3)))
        found, becomes = random.sample([*SHORT, ""], 2)
        if random.random() < 0.3:
            found, becomes = random.choice(SHORT), ""
        edits.append(Edit(len(before) + len(between), found, becomes))
        before += between + found
        after += between + becomes
    end = "".join(random.choices(blocks, k=2))
    return before + end, edits, after + end


def marked(random: Random, text: str) -> str:
    """The text with marks put into it, and nothing taken away."""
    for _ in range(random.randint(0, 4)):
        at = random.randint(0, len(text))
        text = text[:at] + "".join(random.choices(MARKS, k=random.randint(1, 3))) + text[at:]
    return text


def rewritten(random: Random, text: str) -> str:
    """The text with parts marked, deleted, copied, moved and written anew."""
    for _ in range(random.randint(0, 4)):
        start, end = sorted(random.randint(0, len(text)) for _ in range(2))
        end = min(end, start + random.choice([1, 10, 80]))
        part, rest = text[start:end], text[:start] + text[end:]
        at = random.randint(0, len(rest))
        text = random.choice(
            [
                marked(random, text),
                rest,
                rest[:at] + part + rest[at:],
                text[:end] + part + text[end:],
                text[:start] + random.choice(SHORT) + text[start:],
            ]
        )
    return text


def overlapping(random: Random) -> tuple[Executed, str]:
    """Two places that were far apart, and a text in which both are found and have a character in
    common.
    """
    letters = random.sample("0123456789abcdefghijklmnopqrstuvwxyz", 2 * AROUND)
    left, right = "".join(letters[:AROUND]), "".join(letters[AROUND:])
    start, between, end = f"<{left}", f"x{right[:-1]}-{left[1:]}x", f"{right}>"
    first, second = random.choices(SHORT, k=2)
    edits = [Edit(len(start), first, "xx"), Edit(len(start + first + between), second, "xx")]
    executed = start + first + between + second + end, edits, f"{start}xx{between}xx{end}"
    return executed, f"{random.choice('<①')}{left}xxx{right}{random.choice('>②')}"


def only_marks(text: str) -> str:
    return "".join(c for c in text if c in MARKS)


def without_marks(text: str) -> str:
    return "".join(c for c in text if c not in MARKS)


def faults(edits: Sequence[Edit], after: str, present: str, undo: Undo) -> Iterator[str]:
    """Yields what an undo does otherwise than the rules say."""
    places = list(_places(edits))
    kept = {each.edit for each in undo.kept}
    numbers = [number for number in range(len(places)) if number not in kept]
    if len(numbers) != len(undo.edits):
        yield "not every place is reverted or kept"
        return
    try:
        apply_edits(present, undo.edits)
    except ValueError:
        yield "the edits do not fit"
    head, tail = _common(after, present)
    fixed, found = _found(places, after, present, head, tail)
    starts = {number: edit.start for number, edit in zip(numbers, undo.edits, strict=True)}
    for number, edit in zip(numbers, undo.edits, strict=True):
        if (edit.found, edit.becomes) != (edits[number].becomes, edits[number].found):
            yield "something else is exchanged"
    if any(starts.get(number) != start for number, start in fixed.items()):
        yield "a place in a common end is not where it was"
    between = {number: start for number, start in starts.items() if number not in fixed}
    if not between.items() <= found.items():
        yield "a place was found that is not once in both"
    lengths = [len(text) for _, text in places]
    if len(between) != _most_in_order(fixed, found, lengths, len(present)):
        yield "fewer places than could be"


def _places(edits: Sequence[Edit]) -> Iterator[tuple[int, str]]:
    """Yields where the edits' results begin in the text after them."""
    for number, edit in enumerate(edits):
        longer = sum(len(e.becomes) - len(e.found) for e in edits[:number])
        yield edit.start + longer, edit.becomes


def _common(after: str, present: str) -> tuple[int, int]:
    shorter = min(len(after), len(present))
    head = tail = 0
    while head < shorter and after[head] == present[head]:
        head += 1
    while tail < shorter - head and after[-1 - tail] == present[-1 - tail]:
        tail += 1
    return head, tail


def _found(
    places: Sequence[tuple[int, str]], after: str, present: str, head: int, tail: int
) -> tuple[dict[int, int], dict[int, int]]:
    """Numbers of places and where they are now: in the common ends, and between."""
    fixed, found = {}, {}
    moved, until = 0, -1
    for number, (start, text) in enumerate(places):
        end = start + len(text)
        if end <= head:
            fixed[number] = start
        elif start >= len(after) - tail:
            fixed[number] = start + len(present) - len(after)
        elif end <= until:
            found[number] = start + moved
        else:
            left, right = after[max(0, start - AROUND) : start], after[end : end + AROUND]
            window = left + text + right
            now = _starts(window, present)
            if len(now) == len(_starts(window, after)) == 1 and len(left + right) >= AROUND:
                found[number] = now[0] + len(left)
                moved, until = found[number] - start, start
                while after[until : until + 1] == present[until + moved : until + moved + 1] != "":
                    until += 1
    return fixed, found


def _starts(window: str, text: str) -> list[int]:
    return [at for at in range(len(text)) if text[at : at + len(window)] == window]


def _most_in_order(
    fixed: dict[int, int], found: dict[int, int], lengths: list[int], chars: int
) -> int:
    """How many found places can stay between the fixed ones, in order and without overlaps."""
    first = [number for number in fixed if not any(n < number for n in found)]
    least = max((fixed[n] + lengths[n] for n in first), default=0)
    most = min((fixed[n] for n in fixed if n not in first), default=chars)
    chains: dict[int, int] = {}
    for number, start in found.items():
        if least <= start and start + lengths[number] <= most:
            before = [length for n, length in chains.items() if found[n] + lengths[n] <= start]
            chains[number] = 1 + max(before, default=0)
    return max(chains.values(), default=0)
