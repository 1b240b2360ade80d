"""What keyword search knows of a chunk, and by which keys Postgres finds it.

It knows the tokens of its text and those of the lines it stands under: a chunk from the middle of a
section rarely repeats the title, one from the middle of a function not its name, but questions do.
docs/quality.md has what that gains.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from context_search.text.analysis import tokens

MAX_ENCLOSING_LINES = 4
MAX_LINE_CHARACTERS = 160
MAX_HEADING_CHARACTERS = 120

_LINE = re.compile(r"^([ \t]*+)(\S[^\n]*+)", re.MULTILINE)
_WORD = re.compile(r"\w")
# Markdown's "## Title"; "== Title ==" of wikis and AsciiDoc, also with spaces between the signs.
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)|(=(?: ?=){0,5}) +([^=\s].*?) +=[= ]*")


def keyword_tokens(text: str, trail: str) -> list[str]:
    """Returns the tokens of a chunk's text and then those of its trail, with repetitions."""
    return tokens(text) + tokens(trail)


def trails(text: str, starts: Sequence[int]) -> list[str]:
    """Returns for each position (ascending) of ``text`` the lines it stands under, outermost first.

    These are the headings above it, one of each level, then the nearest ``MAX_ENCLOSING_LINES``
    lines that enclose it by indentation, as signatures enclose code and keys a YAML value. Each
    is cut to ``MAX_LINE_CHARACTERS``. Linear in the text.
    """
    walk = _Walk()
    found: list[str] = []
    waiting = iter([*starts, len(text) + 1])
    start = next(waiting)
    for line in _LINE.finditer(text):
        indent, words = len(line[1]), line[2].rstrip()
        while start <= line.start():
            found.append(walk.trail(indent))
            start = next(waiting)
        walk.pass_heading(words)
        while start < line.end():
            found.append(walk.trail(indent))
            start = next(waiting)
        walk.pass_line(indent, words)
    return found + [walk.trail(0)] * (len(starts) - len(found))


class _Walk:
    """The lines that are open where a walk down the text has come."""

    def __init__(self) -> None:
        self._headings: list[tuple[int, str]] = []
        self._enclosing: list[tuple[int, str]] = []

    def trail(self, indent: int) -> str:
        """The trail of a line with this indentation."""
        return "\n".join([*(title for _, title in self._headings), *self._around(indent)])

    def pass_heading(self, line: str) -> None:
        """A heading ends those of its level and below."""
        if line[0] not in "#=" or len(line) > MAX_HEADING_CHARACTERS:
            return
        if match := _HEADING.fullmatch(line):
            level = len(match[1] or match[3].replace(" ", ""))
            _push(self._headings, level, match[2] or match[4])

    def pass_line(self, indent: int, line: str) -> None:
        """A line ends what is indented as far or farther; a bracket alone ends nothing."""
        if _WORD.search(line):
            _push(self._enclosing, indent, line[:MAX_LINE_CHARACTERS])

    def _around(self, indent: int) -> list[str]:
        return list(_reversed_below(self._enclosing, indent))[::-1]


def _push(stack: list[tuple[int, str]], depth: int, line: str) -> None:
    while stack and stack[-1][0] >= depth:
        stack.pop()
    stack.append((depth, line))


def _reversed_below(stack: list[tuple[int, str]], depth: int) -> Iterator[str]:
    below = (line for at, line in reversed(stack) if at < depth)
    for _, line in zip(range(MAX_ENCLOSING_LINES), below, strict=False):
        yield line


# ---- Which tokens Postgres can look up, and what it looks up for a word of a question.
# Two neighbouring Han characters are a token, but no key: most of a Chinese text's tokens are such
# pairs, and indexing them costs six times as much as all the rest (decision 0014). Both characters
# are keys; whether they are neighbours is seen in the text.

_PAIR = 2  # a look at the length is cheaper than a match
_is_han_pair = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]{2}"
).fullmatch


def keys(tokens: Iterable[str]) -> list[str]:
    """Returns the distinct keys of a chunk with these tokens, in their order.

    >>> keys(["北", "京", "北京", "ran", "ran"])
    ['北', '京', 'ran']
    """
    return [
        token for token in dict.fromkeys(tokens) if len(token) != _PAIR or not _is_han_pair(token)
    ]


def keys_of(word: str) -> list[str]:
    """Returns the keys that every chunk with this token has.

    >>> keys_of("北京"), keys_of("京"), keys_of("ran")
    (['北', '京'], ['京'], ['ran'])
    """
    return list(word) if _is_han_pair(word) else [word]
