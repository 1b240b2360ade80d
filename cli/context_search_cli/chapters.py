"""A document of a text: one string, or its chapters.

``console/src/rules/chapters.ts`` is the same; a check runs both on the same texts.
"""

from __future__ import annotations

import codecs
import itertools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from context_search_cli.failures import UsageError

_MARKDOWN = re.compile(r"(#{1,6})[ \t]+([^ \t][^\n]*)")
_NOVELS = (
    re.compile(
        r"[ \t\u3000]*第[0-9０-９〇零一二三四五六七八九十百千万两]+[章回]"
        r"(?:[ \t\u3000:：、.．][^。\n]{0,60}|[^，。！？；：、 \t\u3000\n]{0,20})"
    ),
    re.compile(
        r"[ \t]*(?:Chapter|CHAPTER)[ \t]+(?:[0-9]+|[IVXLCDM]+)"
        r"(?:[.:) \t—–-][^\n]{0,80})?"
    ),
)
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_SPACES = " \t\u3000"
_LEADING_LINES = re.compile(r"^(?:[ \t\u3000]*\n)+")
_ENDING = re.compile(r"\.(txt|md)\Z", re.IGNORECASE)


# What Python's GB18030 has for private use, and browsers where the standard put it in 2022.
_MOVED = dict(zip(range(0xE78D, 0xE797), "︐︒︑︓︔︕︖︗︘︙", strict=True))
_MOVED |= dict(
    zip(
        (0xE81E, 0xE826, 0xE82B, 0xE82C, 0xE832, 0xE843, 0xE854, 0xE864),
        map(chr, range(0x9FB4, 0x9FBC)),
        strict=True,
    )
)
_MOVED |= {0xE5E5: "\u3000", 0xE7C7: "\u1e3f", 0x1E3F: "\ue7c7"}
_EURO = "context_search_cli.euro"


def _euro(error: UnicodeError) -> tuple[str, int]:
    """Windows' own 0x80, which browsers take."""
    if isinstance(error, UnicodeDecodeError) and error.object[error.start] == 0x80:
        return "€", error.start + 1
    raise error


codecs.register_error(_EURO, _euro)


class _Heading(NamedTuple):
    at: int
    level: int
    title: str


def is_text(path: str) -> bool:
    """Whether a file is a text by its name."""
    return bool(_ENDING.search(path))


def decoded(content: bytes, name: str) -> str:
    """UTF-8 or else GB18030, with line breaks of one kind. Raises UsageError for anything else."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        try:
            text = content.decode("gb18030", _EURO).translate(_MOVED)
        except UnicodeDecodeError:
            raise UsageError(f"{name}: this text is neither UTF-8 nor GB18030") from None
    return re.sub("\r\n?", "\n", text)


def document_of(name: str, text: str) -> dict[str, Any]:
    """The headings that stand most often, of one kind: ``#`` of Markdown, 第…章, Chapter N.

    A heading with nothing below it, as in a table of contents, is none.
    """
    title = _ENDING.sub("", name)
    lines = text.split("\n")
    kinds = [_markdown(lines), *(_novel(lines, kind) for kind in _NOVELS)]
    kept = max((_filled(lines, _highest(found)) for found in kinds), key=len)
    if not kept:
        return {"title": title, "text": text}
    ends = [*(heading.at for heading in kept[1:]), len(lines)]
    chapters = [
        {"title": heading.title, "text": _text_of(lines, heading.at + 1, end)}
        for heading, end in zip(kept, ends, strict=True)
    ]
    before = _text_of(lines, 0, kept[0].at)
    return {
        "title": title,
        "chapters": [{"title": title, "text": before}] * bool(before) + chapters,
    }


def lengths_of(document: dict[str, Any]) -> list[int]:
    """Return how long the texts of a document of ``document_of`` are."""
    return [len(each["text"]) for each in document.get("chapters", [document])]


def _text_of(lines: Sequence[str], start: int, end: int) -> str:
    """The lines without empty ones around them; a pattern for those behind takes n² steps."""
    text = _LEADING_LINES.sub("", "\n".join(lines[start:end]))
    behind = text.find("\n", len(text.rstrip(_SPACES + "\n")))
    text = text if behind < 0 else text[:behind]
    return text if text.strip(_SPACES) else ""


def _filled(lines: Sequence[str], found: Sequence[_Heading]) -> list[_Heading]:
    ends = [*(heading.at for heading in found[1:]), len(lines)]
    pairs = zip(found, ends, strict=True) if found else ()
    return [heading for heading, end in pairs if _text_of(lines, heading.at + 1, end)]


def _markdown(lines: Sequence[str]) -> list[_Heading]:
    found = []
    code = False
    for at, line in enumerate(lines):
        if _FENCE.match(line):
            code = not code
        heading = None if code else _MARKDOWN.fullmatch(line)
        if heading:
            found.append(_Heading(at, len(heading[1]), _without_marks(heading[2])))
    return found


def _without_marks(title: str) -> str:
    """``Title ##`` is closed by its marks."""
    title = title.rstrip(" \t")
    unmarked = title.rstrip("#")
    return unmarked.rstrip(" \t") if unmarked.endswith((" ", "\t")) else title


def _novel(lines: Sequence[str], kind: re.Pattern[str]) -> list[_Heading]:
    return [
        _Heading(at, 1, line.strip(_SPACES))
        for at, line in enumerate(lines)
        if kind.fullmatch(line)
    ]


def _highest(found: Sequence[_Heading]) -> list[_Heading]:
    """Those of the highest level that has two, or else of the highest."""
    levels = sorted(heading.level for heading in found)
    twice = [one for one, other in itertools.pairwise(levels) if one == other]
    return [heading for heading in found if heading.level == (twice or levels)[0]]
