"""An engine of regular expressions. Apart from the other ports: a search never needs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from context_search.text.pattern_matches import PatternMatches


class CompiledPattern(Protocol):
    """A regular expression that can be searched for."""

    @property
    def groups(self) -> int:
        """How many groups it has, without the whole match."""
        ...

    @property
    def names(self) -> Mapping[str, int]:
        """The groups with names; one that two of them have is none."""
        ...

    def matches(
        self, texts: Sequence[str], *, groups: Sequence[int], text_timeout_s: float
    ) -> Iterator[PatternMatches]:
        """Yields the matches in each text, in order, with the spans of some groups.

        A text that takes longer is ``too_slow``. Raises PatternTooSlowError at the third of a
        pattern, PatternInvalidError where a match would cut a code point, TooManyMatchesError
        over ``MAX_SPANS``.
        """
        ...


class Patterns(Protocol):
    """A regular expression engine: RE2 syntax, whatever the pattern within bounds of time and
    memory.
    """

    @property
    def engine(self) -> str:
        """Name and release: another one may find other matches."""
        ...

    def compiled(
        self, pattern: str, *, case_sensitive: bool, timeout_s: float
    ) -> AbstractContextManager[CompiledPattern]:
        """Returns a pattern to search for inside of a ``with``, in one thread.

        Raises there PatternInvalidError with a place in the pattern, PatternTooComplexError, or
        PatternTooSlowError.
        """
        ...
