"""Hides what is sensitive in slices of a text, and says where it was."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from context_search.text.sensitive import Sensitive, find_sensitive, united
from context_search.text.sensitive.kinds import SensitiveKind
from context_search.text.sensitive.spans import ReadText


@dataclass(frozen=True, slots=True)
class Replacement:
    """One placeholder: where it stands in the shown text, and what it hides of the source.

    All four are code points, ends exclusive; ``char_…`` count from the beginning of the source.
    """

    kind: SensitiveKind
    text_start: int
    text_end: int
    char_start: int
    char_end: int


@dataclass(frozen=True, slots=True)
class RedactedText:
    """A slice of a source as it may be shown; the replacements stand in its order."""

    text: str
    replacements: tuple[Replacement, ...] = ()


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a source that begins at ``char_start``, and what of it must not be shown.

    ``sensitive`` counts from the beginning of ``text`` and is ordered, without overlaps.
    """

    text: str
    char_start: int
    sensitive: tuple[Sensitive, ...] = ()

    @property
    def char_end(self) -> int:
        """Where it ends in the source, exclusive."""
        return self.char_start + len(self.text)

    def show(self, char_start: int, char_end: int) -> RedactedText:
        """Returns a slice of the source, which must lie inside.

        Where it cuts a sensitive part in two, its half is hidden too.
        """
        start, end = char_start - self.char_start, char_end - self.char_start
        parts: list[str] = []
        replacements: list[Replacement] = []
        at, length = start, 0
        for found in self._between(start, end):
            hidden_from, hidden_to = max(start, found.start), min(end, found.end)
            mark = placeholder(found.kind)
            mark_at = length + hidden_from - at
            parts += [self.text[at:hidden_from], mark]
            replacements.append(
                Replacement(
                    found.kind,
                    text_start=mark_at,
                    text_end=mark_at + len(mark),
                    char_start=self.char_start + hidden_from,
                    char_end=self.char_start + hidden_to,
                )
            )
            at, length = hidden_to, mark_at + len(mark)
        return RedactedText("".join([*parts, self.text[at:end]]), tuple(replacements))

    def _between(self, start: int, end: int) -> Iterator[Sensitive]:
        first = bisect_right(self.sensitive, start, key=lambda found: found.end)
        for found in self.sensitive[first:]:
            if found.start >= end:
                return
            yield found


def excerpt_of(read: ReadText, char_start: int, kinds: Sequence[SensitiveKind]) -> Excerpt:
    """Returns what was read of a source from ``char_start`` on, and what of it is of these kinds.

    Where a secret may go on beyond what was read, all that may belong to it is sensitive.
    """
    found = list(find_sensitive(read.text, kinds))
    if kinds:
        found += [Sensitive(kinds[0], start, end) for start, end in read.doubtful()]
    return Excerpt(read.text, char_start, united(found))


def placeholder(kind: SensitiveKind) -> str:
    """Returns what stands in place of a sensitive part; nothing in it is sensitive."""
    return f"[redacted:{kind}]"
