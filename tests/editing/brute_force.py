"""What a request for a literal changes, said a second time: place by place.

``random_case`` makes texts and requests in which the rules of matching are in each other's way,
``random_executed`` texts before and after edits.
"""

from __future__ import annotations

from random import Random

from context_search_editing.rules.edits import Edit, LeftOut, StringEdits
from context_search_editing.rules.replacing import ReplaceRequest
from tests.text.brute_force import places, random_search

OWN = "ab林😀\u0301"
SHORT = ["a", "b", "ab", "ba", "林", "林林", "😀", "e\u0301", "aaaa", "👩\u200d👧"]


def brute_force(text: str, request: ReplaceRequest) -> StringEdits:
    """What a request for a literal does to a text with clusters of at most 64 code points."""
    found = places(
        text,
        request.find,
        case_sensitive=request.case_sensitive,
        whole_word=request.whole_word,
        whole_characters=request.whole_characters,
    )
    whole = [place for place in found if not place.inside_character]
    edits = [Edit(at.start, text[at.start : at.end], request.replace_with) for at in whole]
    changes = tuple(edit for edit in edits if edit.found != edit.becomes)
    inside, equal = len(found) - len(whole), len(whole) - len(changes)
    return StringEdits(changes, LeftOut(inside_character=inside, already_equal=equal))


def random_case(random: Random) -> tuple[str, ReplaceRequest]:
    """A text, and a request that likely finds something in it."""
    text, find, options = random_search(random)
    replace_with = random.choice(["", "x", find, find + find, "$0", "\\1"])
    return text, ReplaceRequest(find, replace_with, **options)


def random_executed(random: Random) -> tuple[str, list[Edit], str]:
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
