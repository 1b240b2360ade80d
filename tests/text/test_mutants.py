"""Matching with one thing wrong: random cases tell it from the right one."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from context_search.text import borders, literals
from context_search.text.literals import Literal
from tests.mutants import mutant
from tests.text.brute_force import places, random_search

RE_WORDS = """
from re import ASCII, NOFLAG, compile

def is_edge(text, at):
    return compile(r"\\b", {}).match(text, at) is not None
"""
WORDS = "from context_search.text.words import is_edge"
MATCHING = {
    "only the form that was given": (
        literals,
        '{find, normalize("NFC", find), normalize("NFD", find)}',
        "{find}",
    ),
    "NFKC": (literals, 'normalize("NFC", find), normalize', 'normalize("NFKC", find), normalize'),
    "goes on behind a refused word": (
        literals,
        "if is_edge(refused, step) and any(",
        "if any(()) and (",
    ),
    "case ignored": (
        literals,
        "_sensitive = case_sensitive",
        "_sensitive = case_sensitive = False",
    ),
    "case never ignored": (
        literals,
        "_sensitive = case_sensitive",
        "_sensitive = case_sensitive = True",
    ),
    "İ is i": (literals, "return _LONGER_IN_LOWER_CASE.join(", 'return "i".join('),
    "case folding that changes lengths": (
        literals,
        "parts = text.split(_LONGER_IN_LOWER_CASE)",
        "return text.casefold()",
    ),
    "overlapping places": (literals, "position = end if is_whole else", "position ="),
    "ASCII words": (borders, WORDS, RE_WORDS.format("ASCII")),
    "words of re": (borders, WORDS, RE_WORDS.format("NOFLAG")),
    "grapheme rule off": (borders, "GraphemeClusters(text) if whole_characters else None", "None"),
    "only the beginning is whole": (borders, " and self._may_cut(self._clusters, end)", ""),
    "CR LF is one character": (
        borders,
        'self._text[max(0, position - 1) : position + 1] == "\\r\\n" or ',
        "",
    ),
}


def finds_wrongly(module: ModuleType, cases: int) -> bool:
    random = Random(11)
    return any(_finds_wrongly(module, *random_search(random)) for _ in range(cases))


def _finds_wrongly(module: ModuleType, text: str, find: str, options: dict[str, bool]) -> bool:
    literal = getattr(module, "Literal", Literal)(find, case_sensitive=options["case_sensitive"])
    respected = module.Borders(
        text, whole_word=options["whole_word"], whole_characters=options["whole_characters"]
    )
    found = map(astuple, literal.places(text, respected))
    return [*found] != [*map(astuple, places(text, find, **options))]


@pytest.mark.parametrize("name", MATCHING)
def test_a_faulty_matcher_is_caught(name: str, tmp_path: Path) -> None:
    with mutant(*MATCHING[name], tmp_path) as module:
        assert finds_wrongly(module, 6_000)


@pytest.mark.parametrize("module", [literals, borders])
def test_the_code_without_a_fault_passes_the_same_checks(module: ModuleType) -> None:
    assert not finds_wrongly(module, 500)
