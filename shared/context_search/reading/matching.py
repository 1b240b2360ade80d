"""Finds a literal or a pattern in texts, and hides what touches something sensitive."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from context_search.integrations.patterns.ports import CompiledPattern, Patterns
from context_search.reading.rules.found_text import WantedMatches
from context_search.reading.rules.narrowing import Narrowing
from context_search.text.borders import Borders
from context_search.text.literals import Literal
from context_search.text.pattern_matches import PatternMatches
from context_search.text.redaction import Excerpt, excerpt_of
from context_search.text.sensitive.kinds import SensitiveKind
from context_search.text.sensitive.spans import ReadText

TEXT_S = 1.5
"""For how long one string is looked through for a pattern, in seconds; so is the pattern compiled.
"""
_HIDDEN = "\ufdd0"
"""Stands for each character that is hidden: in no word, and in no text that is meant for people."""

Span = tuple[int, int]


class TextMatches(Protocol):
    """What stands in one text: spans from left to right, None for one that cuts a character."""

    @property
    def too_slow(self) -> bool:
        """Whether the text took too long."""
        ...

    def __iter__(self) -> Iterator[Span | None]: ...


class Matcher(Protocol):
    """What is looked for. ``narrowing`` None: any text may match."""

    @property
    def narrowing(self) -> Narrowing | None: ...

    def matches(self, texts: Sequence[str]) -> Generator[TextMatches]:
        """Yields the matches in each text, in order. Raises what a pattern's engine raises."""
        ...


@contextmanager
def matcher_of(wanted: WantedMatches, patterns: Patterns) -> Iterator[Matcher]:
    """Returns what finds the wanted, inside of a ``with`` and in one thread.

    Raises what ``Patterns.compiled`` raises.
    """
    if wanted.text is not None:
        literal = Literal(wanted.text, case_sensitive=wanted.case_sensitive)
        narrowing = Narrowing.of(literal, case_sensitive=wanted.case_sensitive)
        yield _LiteralMatcher(literal, narrowing, wanted.whole_word)
        return
    with patterns.compiled(
        wanted.pattern or "", case_sensitive=wanted.case_sensitive, timeout_s=TEXT_S
    ) as pattern:
        yield _PatternMatcher(pattern, wanted.whole_word)


@dataclass(frozen=True, slots=True)
class _LiteralMatches:
    literal: Literal
    text: str
    whole_word: bool
    too_slow: bool = False

    def __iter__(self) -> Iterator[Span | None]:
        if self.literal.occurs_in(self.text):
            borders = Borders(self.text, whole_word=self.whole_word)
            for place in self.literal.places(self.text, borders):
                yield None if place.inside_character else (place.start, place.end)


@dataclass(frozen=True, slots=True)
class _LiteralMatcher:
    literal: Literal
    narrowing: Narrowing | None
    whole_word: bool

    def matches(self, texts: Sequence[str]) -> Generator[TextMatches]:
        return (_LiteralMatches(self.literal, text, self.whole_word) for text in texts)


@dataclass(frozen=True, slots=True)
class _PatternTextMatches:
    found: PatternMatches
    text: str
    whole_word: bool

    @property
    def too_slow(self) -> bool:
        return self.found.too_slow

    def __iter__(self) -> Iterator[Span | None]:
        borders = Borders(self.text, whole_word=self.whole_word)
        for start, end in self.found:
            is_match = borders.is_word(start, end) and borders.is_whole(start, end)
            yield (start, end) if is_match else None


@dataclass(frozen=True, slots=True)
class _PatternMatcher:
    pattern: CompiledPattern
    whole_word: bool
    narrowing: Narrowing | None = None

    def matches(self, texts: Sequence[str]) -> Generator[TextMatches]:
        found = self.pattern.matches(texts, groups=(), text_timeout_s=TEXT_S)
        for text, matches in zip(texts, found, strict=True):
            yield _PatternTextMatches(matches, text, self.whole_word)


@dataclass(frozen=True, slots=True)
class HiddenText:
    """A text for a caller who may not see everything in it.

    What is looked for is looked for in ``masked``, where a sign stands for each character that is
    hidden. So what is found says nothing of them; a match that touches one is none.
    """

    excerpt: Excerpt
    masked: str

    @classmethod
    def of(cls, text: str, kinds: Sequence[SensitiveKind]) -> HiddenText:
        """Returns a whole string with what of it is of these kinds hidden."""
        has_keys = "key" in kinds
        read = ReadText(text, 0, len(text), is_first=True, is_last=True, has_keys=has_keys)
        excerpt = excerpt_of(read, 0, kinds)
        parts, at = [], 0
        for hidden in excerpt.sensitive:
            parts += [text[at : hidden.start], _HIDDEN * (hidden.end - hidden.start)]
            at = hidden.end
        return cls(excerpt, "".join([*parts, text[at:]]))

    def touches(self, start: int, end: int) -> bool:
        """Says whether a match has a hidden character in it, or beside it."""
        return _HIDDEN in self.masked[max(0, start - 1) : end + 1]
