"""The undo with one thing wrong: its tests must tell each from the right one."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from context_search.core.documents import strings_at
from context_search_editing.rules import relocation, undo
from context_search_editing.rules.edits import Edit, apply_edits, string_hash
from tests.editing.edited_since import (
    faults,
    marked,
    only_marks,
    overlapping,
    random_executed,
    rewritten,
    without_marks,
)

CASES = 4_000
RELOCATION = {
    "not once in the present text": (
        "return at if at >= 0 and text.find(window, at + 1, end) < 0 else None",
        "return at if at >= 0 else None",
    ),
    "not once in the text after": (
        "at is None or self._only(window, self._after, 0, len(self._after)) is None",
        "at is None",
    ),
    "occurrences that overlap are one": ("window, at + 1, end", "window, at + len(window), end"),
    "any order, overlaps": ("between = _longest_chain(", "between = list("),
    "overlaps by a character": (
        "length = bisect_right(ends, place.start)",
        "length = bisect_right(ends, place.start + 1)",
    ),
    "the first chain": ("elif place.end < ends[length]:", "elif False:"),
    "into the common ends": (
        "if least <= place.start and place.end <= most",
        "if least is not most",
    ),
    "deletions at one place the other way round": (
        "in search.found(enumerate(back[first:last], start=first))",
        "in search.found([*enumerate(back[first:last], start=first)][::-1])",
    ),
    "alike for ever": ("alike_until = place.start + alike", "alike_until = len(self._after)"),
    "alike one too far": ("place.end > alike_until", "place.end > alike_until + 1"),
    "less around": ("AROUND_CHARS = 16", "AROUND_CHARS = 15"),
    "more around": ("AROUND_CHARS = 16", "AROUND_CHARS = 17"),
    "nothing around": ("< AROUND_CHARS or not", "< 0 or not"),
    "places behind are where they were": ("moved = len(present_text)", "moved = len(after_text)"),
    "a place that begins in the head": ("key=lambda place: place.end", "key=lambda p: p.start"),
    "a place that ends in the tail": (
        "lo=first, key=lambda p: p.start",
        "lo=first, key=lambda p: p.end",
    ),
    "not across the head": ("self.head - len(window) + 1", "self.head"),
    "not across the tail": ("self.tail + len(window) - 1", "self.tail"),
    "the place is its window": ("return at + place.start - begin", "return at"),
}
UNDO = {
    "undo without hash": ("if string_hash(present) != final_hash:", "if False:"),
    "the text before is not compared": (
        "if string_hash(apply_edits(present, back)) != before_hash:",
        "if False:",
    ),
    "edits where they were before": ("Edit(edit.start + moved,", "Edit(edit.start,"),
    "found stays found": ("edit.becomes, edit.found)", "edit.found, edit.becomes)"),
    "the first of many that are alike": ("once.discard(sha256)", "pass"),
    "one string for two": ("if times == 1", "if times"),
    "the last of many that are alike": ("if sha256 in found:", "if sha256 in found and False:"),
}


@contextmanager
def mutant(module: ModuleType, old: str, new: str, folder: Path) -> Iterator[ModuleType]:
    """The module with another text in its source, under another name."""
    source = Path(str(module.__file__)).read_text("utf-8")
    assert source.count(old) == 1
    file = folder / "mutant.py"
    file.write_text(source.replace(old, new), "utf-8")
    spec = importlib.util.spec_from_file_location("mutant", file)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules["mutant"] = made
    try:
        spec.loader.exec_module(made)
        yield made
    finally:
        del sys.modules["mutant"]


def relocates_wrongly(module: ModuleType, cases: int) -> bool:
    random = Random(7)
    return any(_relocates_wrongly(module, random) for _ in range(cases))


def _relocates_wrongly(module: ModuleType, random: Random) -> bool:
    (_, edits, after), present = overlapping(random)
    if [*faults(edits, after, present, module.relocated(edits, after, present))]:
        return True
    before, edits, after = random_executed(random)
    for change in (rewritten, marked):
        present = change(random, after)
        done = module.relocated(edits, after, present)
        if [*faults(edits, after, present, done)]:
            return True
    result = apply_edits(present, done.edits)
    kept = [edits[each.edit] for each in done.kept]
    return only_marks(result) != only_marks(present) or without_marks(result) != apply_edits(
        before, kept
    )


def undoes_wrongly(module: ModuleType, cases: int) -> bool:
    random = Random(7)
    return any(_undoes_wrongly(module, random) for _ in range(cases))


def _undoes_wrongly(module: ModuleType, random: Random) -> bool:
    before, edits, after = random_executed(random)
    hashes = {"before_hash": string_hash(before), "final_hash": string_hash(after)}
    present = rewritten(random, after)
    try:
        back = module.exact_undo(after, edits, **hashes)
        other = module.exact_undo(present, edits, **hashes)
        if apply_edits(after, back) != before or (other is None) != (present != after):
            return True
    except ValueError:
        return True
    changed = [Edit(edit.start, edit.found + "x", edit.becomes) for edit in edits]
    try:
        module.exact_undo(after, changed, **hashes)
    except ValueError:
        return _finds_wrongly(module, random)
    return True


def _finds_wrongly(module: ModuleType, random: Random) -> bool:
    texts, sought = (random.choices(["a", "b", "c", "ab"], k=random.randint(0, 4)) for _ in "12")
    prints = {text: string_hash(text) for text in sought}
    found = module.moved_strings(strings_at(texts, [""]), [prints[text] for text in sought])
    once = {text for text in sought if sought.count(text) == texts.count(text) == 1}
    return bool(
        {key: node.text for key, node in found.items()} != {prints[text]: text for text in once}
    )


@pytest.mark.parametrize("name", RELOCATION)
def test_a_faulty_relocation_is_caught(name: str, tmp_path: Path) -> None:
    with mutant(relocation, *RELOCATION[name], tmp_path) as module:
        assert relocates_wrongly(module, CASES)


@pytest.mark.parametrize("name", UNDO)
def test_a_faulty_undo_is_caught(name: str, tmp_path: Path) -> None:
    with mutant(undo, *UNDO[name], tmp_path) as module:
        assert undoes_wrongly(module, CASES)


@pytest.mark.parametrize(
    ("module", "is_wrong"),
    [(relocation, relocates_wrongly), (undo, undoes_wrongly)],
    ids=["relocation", "undo"],
)
def test_the_right_one_is_not(
    module: ModuleType, is_wrong: Callable[[ModuleType, int], bool]
) -> None:
    assert not is_wrong(module, 1_500)
