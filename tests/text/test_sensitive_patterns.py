"""No pattern of redaction can take more than a bounded number of steps for each character.

Texts made to hang a search do so by repeats that can give back what they took, in many ways. So
every repeat is bounded or possessive, and none that gives back is inside of another such.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from context_search.text import sensitive
from context_search.text.sensitive import find_sensitive
from context_search.text.sensitive.kinds import SENSITIVE_KINDS
from context_search.text.sensitive.spans import ReadText

# The parser of ``re``; it has no public name.
PARSER: Any = importlib.import_module("re._parser")
UNBOUNDED = PARSER.MAXREPEAT
GIVES_BACK = (PARSER.MAX_REPEAT, PARSER.MIN_REPEAT)
MOST_REPEATS = 40_000
LARGE = 1_000_000


def patterns() -> dict[str, re.Pattern[str]]:
    """Every compiled pattern of the package, by module and name."""
    found: dict[str, re.Pattern[str]] = {}
    for module in pkgutil.iter_modules(sensitive.__path__, f"{sensitive.__name__}."):
        for name, value in vars(importlib.import_module(module.name)).items():
            for number, pattern in enumerate(_patterns_in(value)):
                found[f"{module.name.rpartition('.')[2]}.{name}.{number}"] = pattern
    return found


def _patterns_in(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _patterns_in(part)


def repeats(node: Any) -> Iterator[tuple[Any, int, Any]]:
    """(operator, most, what is repeated) of every repeat in a parsed pattern."""
    for operator, arguments in node:
        if operator in (*GIVES_BACK, PARSER.POSSESSIVE_REPEAT):
            _, most, body = arguments
            yield operator, int(most) if most is not UNBOUNDED else sys.maxsize, body
        for inner in _inside(arguments):
            yield from repeats(inner)


def _inside(arguments: Any) -> Iterator[Any]:
    if isinstance(arguments, PARSER.SubPattern):
        yield arguments
    elif isinstance(arguments, list | tuple):
        for argument in arguments:
            yield from _inside(argument)


def test_all_patterns_are_looked_at() -> None:
    assert len(patterns()) > 40
    assert {"personal_data._PHONE.0", "known_forms._BLOCKS.0", "spans._BREAK.0"} <= set(patterns())


@pytest.mark.parametrize("name", patterns())
def test_every_repeat_is_bounded_or_gives_nothing_back(name: str) -> None:
    parsed = PARSER.parse(patterns()[name].pattern, patterns()[name].flags)
    for operator, most, _ in repeats(parsed):
        assert operator not in GIVES_BACK or most <= MOST_REPEATS


@pytest.mark.parametrize("name", patterns())
def test_no_repeat_multiplies_the_ways_of_another(name: str) -> None:
    parsed = PARSER.parse(patterns()[name].pattern, patterns()[name].flags)
    for operator, most, body in repeats(parsed):
        if operator in GIVES_BACK and most > 1:
            inner = [most for op, most, _ in repeats(body) if op in GIVES_BACK and most > 1]
            assert most * max(inner, default=0) <= 1_000


UNITS = ["a@", "-----BEGIN ", "7", "password:", "password=", "1 ", "eyJa.", "密码", "://a:", "a-"]


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_a_million_hostile_characters_are_searched_to_their_end(unit: str) -> None:
    text = unit * (LARGE // len(unit))
    assert all(part.end <= len(text) for part in find_sensitive(text, SENSITIVE_KINDS))
    read = ReadText(text, 500, len(text) - 500, is_first=False, is_last=False, has_keys=True)
    assert all(0 <= start <= end <= len(text) for start, end in read.doubtful())
