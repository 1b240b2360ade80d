"""How an answer that a page shows is compared with the one that was given, and made from it.

Everything is to be equal, but: times, secrets and what else is new each time are compared by
kind, and so are numbers that follow from the texts, which are those of the Python that runs the
walk. ``…`` in a text stands for any text; as a value, a member or an element, for all that was
left out. An answer is written into a page only where it would not be found equal: a block that is
emptied is written anew.

Below a block of sh stands one of json, or one of text: lines, of which figures and times are
compared by kind; ``…`` alone in a line stands for all that follow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

WIDTH = 130
BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:```(json|text)\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00")
_LEFT_OUT = "…"
# Measured or random, so of another value each time; or from Python's texts, so from its version.
_VARYING = re.compile(
    r"/(score|relevance|bm25|semantic|recency|below_min_score|milliseconds/\w+|counts/\w+"
    r"|\w*chunks?(_\w+)?|tokens|used|seconds|bytes|char_\w+|start|end|text_start|text_end|checked"
    r"|(chunks?|dropped)(/\d+)?/id|rank)$"
)
_FIGURE = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(\+00:00)?|(?<!exit code )\d+([.,]\d+)*"
)


class Block(NamedTuple):
    """Commands, the kind of what is shown below them (json, text or ""), and that."""

    commands: str
    kind: str
    shown: str

    def differences(self, printed: str) -> Iterator[str]:
        """What is shown that was not printed, and the reverse."""
        if self.kind == "text":
            yield from text_differences(self.shown, printed)
        elif self.shown:
            for one, other in zip(values(self.shown), values(printed), strict=True):
                yield from differences(one, other)


def blocks(page: str) -> list[Block]:
    """Those of the whole page."""
    return [Block(*found) for found in BLOCK.findall(page)]


def rewritten(page: str, printed: list[str]) -> str:
    """The page with the answers that its blocks have printed, in the places of those it shows."""
    remaining = iter(printed)

    def block(found: re.Match[str]) -> str:
        text = next(remaining)
        if found[2] is None:
            return found[0]
        if found[2] == "text":
            return f"```sh\n{found[1]}```\n```text\n{_text_again(found[3], text)}```\n"
        answers = values(text)
        shown = values(found[3])
        known = [*shown, *answers[len(shown) :]]
        again = [shown_again(one, other) for one, other in zip(known, answers, strict=False)]
        if again == shown:
            return found[0]
        lines = "".join(f"{laid_out(answer)}\n" for answer in again)
        return f"```sh\n{found[1]}```\n```json\n{lines}```\n"

    return BLOCK.sub(block, page)


def values(text: str) -> list[Any]:
    """The JSON values that stand one after the other in a text."""
    decoder, found, text = json.JSONDecoder(), [], text.strip()
    while text:
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:].lstrip()
    return found


def text_differences(shown: str, given: str) -> Iterator[str]:
    """The same of lines, each by its number."""
    wanted, lines = shown.splitlines(), given.strip("\n").splitlines()
    is_whole = _LEFT_OUT not in wanted
    if not is_whole:
        wanted = wanted[: wanted.index(_LEFT_OUT)]
    if len(wanted) > len(lines) or (is_whole and len(wanted) < len(lines)):
        yield f"{len(wanted)} lines are shown, {len(lines)} were given"
    for place, (one, other) in enumerate(zip(wanted, lines, strict=False), start=1):
        if not _same_line(one, other):
            yield f"line {place}: {one!r} is shown, {other!r} was given"


def _same_line(shown: str, given: str) -> bool:
    parts = (re.escape(_FIGURE.sub("0", part)) for part in shown.split(_LEFT_OUT))
    return re.fullmatch(".*".join(parts), _FIGURE.sub("0", given)) is not None


def _text_again(shown: str, given: str) -> str:
    """The lines that were given, with the same things left out."""
    known, lines = shown.splitlines(), given.strip("\n").splitlines()
    is_whole = _LEFT_OUT not in known
    if not is_whole:
        lines = [*lines[: known.index(_LEFT_OUT)], _LEFT_OUT]
    again = [
        known[place] if place < len(known) and _same_line(known[place], line) else line
        for place, line in enumerate(lines)
    ]
    return "".join(f"{line}\n" for line in again)


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


def shown_again(shown: Any, given: Any, where: str = "") -> Any:
    """What was given, with the same things left out as in what is shown; what is equal stays."""
    if isinstance(shown, dict) and isinstance(given, dict):
        left_out = {_LEFT_OUT: shown[_LEFT_OUT]} if _LEFT_OUT in shown else {}
        names = [name for name in given if name in shown or not left_out]
        members = {
            name: shown_again(shown.get(name), given[name], f"{where}/{name}") for name in names
        }
        return members | left_out
    if isinstance(shown, list) and isinstance(given, list):
        first = [one for one in shown if one != _LEFT_OUT]
        is_whole = len(first) == len(shown)
        known = [*first, *given[len(first) :]] if is_whole else first
        elements = [
            shown_again(one, other, f"{where}/{at}")
            for at, (one, other) in enumerate(zip(known, given, strict=False))
        ]
        return elements if is_whole else [*elements, _LEFT_OUT]
    return shown if _same(shown, given, where) else given


def laid_out(value: Any, column: int = 0, indent: int = 1) -> str:
    """A value as JSON in lines of about ``WIDTH`` characters, filled, beginning at a column."""
    line = json.dumps(value, ensure_ascii=False)
    if column + len(line) <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    text, at = ("{" if isinstance(value, dict) else "["), column + 1
    for number, (name, member) in enumerate(_named(value)):
        text += ", " if number else ""
        at += 2 if number else 0
        fits = at + len(name) + len(json.dumps(member, ensure_ascii=False)) < WIDTH
        if number and not fits:
            text = f"{text.rstrip()}\n{' ' * indent}"
            at = indent
        written = name + laid_out(member, at + len(name), indent + 2)
        text += written
        last = written.rpartition("\n")[2]
        at = len(last) if "\n" in written else at + len(written)
    return text + ("}" if isinstance(value, dict) else "]")


def _named(value: dict[str, Any] | list[Any]) -> list[tuple[str, Any]]:
    if isinstance(value, list):
        return [("", one) for one in value]
    return [(f"{json.dumps(name, ensure_ascii=False)}: ", one) for name, one in value.items()]
