"""Replacing, undo and writing with one thing wrong: random cases tell each from the right one."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from context_search_editing import write_documents
from context_search_editing.rules import replacing, undo
from context_search_editing.rules.edits import Edit, apply_edits, string_hash
from context_search_editing.rules.plans import PlannedString, PlannedTable
from context_search_editing.rules.replacing import Allowance, ReplaceRequest
from context_search_editing.write_documents import Source
from tests.editing.brute_force import brute_force, random_case, random_executed
from tests.mutants import mutant

CASES = 4_000
REPLACING = {
    "replacement of re": (
        "becomes = self._request.replace_with",
        'becomes = self._request.replace_with.replace("\\\\1", "")',
    ),
    "$ in literals": (
        "becomes = self._request.replace_with",
        'becomes = self._request.replace_with.replace("$0", self._request.find)',
    ),
    "byte offsets": (
        "Edit(place.start, text",
        "Edit(len(text[: place.start].encode()), text",
    ),
    "the last match is forgotten": ("tuple(self._edits)", "tuple(self._edits[:-1])"),
}
UNDO = {
    "the text before is not compared": (
        "if string_hash(apply_edits(text, back)) != before_hash:",
        "if False:",
    ),
    "edits where they were before": ("Edit(edit.start + moved,", "Edit(edit.start,"),
    "found stays found": ("edit.becomes, edit.found)", "edit.found, edit.becomes)"),
    "the first of many that are alike": ("once.discard(sha256)", "pass"),
    "one string for two": ("if times == 1", "if times"),
    "the last of many that are alike": ("if sha256 in found:", "if sha256 in found and False:"),
    "strings at home are looked for": ("if home and string.json_pointer in home:", "if False:"),
    "any text at its place is as it was left": (
        "if text is not None and string_hash(text) == string.final_hash:",
        "if text is not None:",
    ),
    "no text at its place is as it was left": (
        "if text is not None and string_hash(text) == string.final_hash:",
        "if False:",
    ),
    "a text that others had, too, has moved": ("elif string.is_only and", "elif"),
    "nothing has moved": ("elif string.is_only and", "elif False and"),
    "what moved forgets what stayed": ("places |= {", "places = {"),
    "what moved is where it was": (
        "missed[sha256]: place for sha256, place in moved.items()",
        "at: strings[0].json_pointer for at in missed.values()",
    ),
}

REWRITING = {
    "every text is the only one": ("is_only=times[text] == 1", "is_only=True"),
    "no text is the only one": ("is_only=times[text] == 1", "is_only=False"),
    "texts of others are not counted": (
        "times = Counter(text for text in strings_in(document) if text in texts)",
        "times = Counter(text for _, text in done)",
    ),
    "a document that is a string stays": ("document = with_strings(", "with_strings("),
}


def replaces_wrongly(module: ModuleType, cases: int) -> bool:
    random = Random(11)
    return any(_edits_wrongly(module, *random_case(random)) for _ in range(cases))


def _edits_wrongly(module: ModuleType, text: str, request: ReplaceRequest) -> bool:
    edits = module.LiteralReplacer(request).edits_of(text, Allowance())
    return bool(edits != brute_force(text, request))


def undoes_wrongly(module: ModuleType, cases: int) -> bool:
    random = Random(7)
    return any(
        _reverts_wrongly(module, random)
        or _finds_wrongly(module, random)
        or _places_wrongly(module, random)
        for _ in range(cases)
    )


def _reverts_wrongly(module: ModuleType, random: Random) -> bool:
    before, edits, after = random_executed(random)
    try:
        back = module.exact_undo(after, edits, before_hash=string_hash(before))
        if apply_edits(after, back) != before:
            return True
    except ValueError:
        return True
    changed = [Edit(edit.start, edit.found + "x", edit.becomes) for edit in edits]
    try:
        module.exact_undo(after, changed, before_hash=string_hash(before))
    except ValueError:
        return False
    return True


def _some_texts(random: Random) -> list[str]:
    return random.choices(["a", "b", "c", "ab"], k=random.randint(0, 4))


def _finds_wrongly(module: ModuleType, random: Random) -> bool:
    texts, sought = _some_texts(random), _some_texts(random)
    home = [f"/{at}" for at in range(len(texts)) if random.random() < 0.2]
    found = module.moved_to(texts, home, [string_hash(text) for text in sought])
    away = {f"/{at}": text for at, text in enumerate(texts) if f"/{at}" not in home}
    return bool(
        found
        != {
            string_hash(text): place
            for place, text in away.items()
            if sought.count(text) == [*away.values()].count(text) == 1
        }
    )


def _places_wrongly(module: ModuleType, random: Random) -> bool:
    left, now = _some_texts(random), _some_texts(random)
    strings = [
        PlannedString(
            1, at, f"/{at}", at + 1, 1, b"", b"", string_hash(text), left.count(text) == 1
        )
        for at, text in enumerate(left)
        if random.random() < 0.6
    ]
    expected = {}
    for string in strings:
        text, at = left[string.position], string.position
        if now[at : at + 1] == [text]:
            expected[at] = f"/{at}"
        elif left.count(text) == now.count(text) == 1:
            expected[at] = f"/{now.index(text)}"
    return bool(module.places_as_left(now, strings) != expected)


def writes_wrongly(module: ModuleType, cases: int) -> bool:
    random = Random(7)
    return any(_writes_wrongly(module, random) for _ in range(cases))


def _writes_wrongly(module: ModuleType, random: Random) -> bool:
    document, becomes = _some_texts(random), _some_texts(random)
    done = [
        (PlannedString(1, at, f"/{at}", at + 1, 1, b"", b""), text)
        for at, text in enumerate(becomes[: len(document)])
    ]
    expected = [text for _, text in done] + document[len(done) :]
    source = Source(PlannedTable(1, 1, 0, 0), [string for string, _ in done])
    result = module.rewritten_with(source, document, done)
    is_only = [string.is_only for string in result.strings]
    string = PlannedString(1, 0, "", 1, 1, b"", b"")
    if module.rewritten_with(source, "a", [(string, "b")]).after != '"b"':
        return True
    return bool(
        json.loads(result.after) != expected
        or is_only != [expected.count(text) == 1 for _, text in done]
    )


@pytest.mark.parametrize("name", REPLACING)
def test_a_faulty_replacement_is_caught(name: str, tmp_path: Path) -> None:
    with mutant(replacing, *REPLACING[name], tmp_path) as module:
        assert replaces_wrongly(module, 6_000)


@pytest.mark.parametrize("name", UNDO)
def test_a_faulty_undo_is_caught(name: str, tmp_path: Path) -> None:
    with mutant(undo, *UNDO[name], tmp_path) as module:
        assert undoes_wrongly(module, CASES)


@pytest.mark.parametrize("name", REWRITING)
def test_a_faulty_change_is_caught(name: str, tmp_path: Path) -> None:
    with mutant(write_documents, *REWRITING[name], tmp_path) as module:
        assert writes_wrongly(module, CASES)


def test_the_code_without_a_fault_passes_the_same_checks() -> None:
    assert not replaces_wrongly(replacing, 500)
    assert not undoes_wrongly(undo, 1_500)
    assert not writes_wrongly(write_documents, 1_500)
