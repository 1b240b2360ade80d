"""How an answer that a page shows is compared with the one that was given.

Everything is to be equal, but: times, secrets and what else is new each time are compared by
kind, and so are numbers that follow from the texts, which are those of the Python that runs the
walk. ``…`` in a text stands for any text; as a value, a member or an element, for all that was
left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00")
_LEFT_OUT = "…"
# Measured or random, so of another value each time; or from Python's texts, so from its version.
_VARYING = re.compile(
    r"/(score|relevance|bm25|semantic|recency|below_min_score|milliseconds/\w+|counts/\w+"
    r"|\w*chunks?(_\w+)?|tokens|used|seconds|bytes|char_\w+|start|end|text_start|text_end|checked"
    r"|(chunks?|dropped)(/\d+)?/id|rank)$"
)


def values(text: str) -> list[Any]:
    """The JSON values that stand one after the other in a text."""
    decoder, found, text = json.JSONDecoder(), [], text.strip()
    while text:
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:].lstrip()
    return found


def differences(shown: Any, given: Any, where: str = "") -> Iterator[str]:
    """What a page shows that was not given, and the reverse; each by its place."""
    if isinstance(shown, dict) and isinstance(given, dict):
        yield from _members(shown, given, where)
    elif isinstance(shown, list) and isinstance(given, list):
        yield from _elements(shown, given, where)
    elif not _same(shown, given, where):
        yield f"{where}: {shown!r} is shown, {given!r} was given"


def _members(shown: dict[str, Any], given: dict[str, Any], where: str) -> Iterator[str]:
    left_out = _LEFT_OUT in shown
    for name in sorted((shown.keys() ^ given.keys()) - {_LEFT_OUT}):
        if name in shown or not left_out:
            yield f"{where}/{name}: {'not given' if name in shown else 'not shown'}"
    for name in shown.keys() & given.keys():
        yield from differences(shown[name], given[name], f"{where}/{name}")


def _elements(shown: list[Any], given: list[Any], where: str) -> Iterator[str]:
    first = [one for one in shown if one != _LEFT_OUT]
    if len(first) > len(given) or (len(first) == len(shown) != len(given)):
        yield f"{where}: {len(shown)} are shown, {len(given)} were given"
    for at, (one, other) in enumerate(zip(first, given, strict=False)):
        yield from differences(one, other, f"{where}/{at}")


def _same(shown: Any, given: Any, where: str) -> bool:
    if shown == _LEFT_OUT:
        return True
    if isinstance(shown, str) and isinstance(given, str):
        pattern = ".*".join(re.escape(part) for part in shown.split(_LEFT_OUT))
        both_times = _TIME.fullmatch(shown) and _TIME.fullmatch(given)
        return bool(both_times or re.fullmatch(pattern, given, re.DOTALL))
    numbers = all(isinstance(one, int | float) for one in (shown, given))
    if numbers and _VARYING.search(where):
        return isinstance(shown, bool) == isinstance(given, bool)
    return type(shown) is type(given) and bool(shown == given)
