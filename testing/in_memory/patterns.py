"""Regular expressions of Python, in the place of RE2."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from context_search.core.errors import PatternInvalidError
from context_search.text.pattern_matches import PatternMatches


class RePatterns:
    """The port ``Patterns``, without a bound of time: for patterns that mean the same in RE2."""

    @property
    def engine(self) -> str:
        return "re"

    @contextmanager
    def compiled(
        self,
        pattern: str,
        *,
        case_sensitive: bool,
        timeout_s: float,  # noqa: ARG002
    ) -> Iterator[RePattern]:
        flags = re.MULTILINE | re.ASCII | (re.NOFLAG if case_sensitive else re.IGNORECASE)
        try:
            compiled = re.compile(pattern, flags)
        except re.error as error:
            message = f"the pattern is no expression after {error.pos} characters"
            raise PatternInvalidError(message) from None
        yield RePattern(compiled)


@dataclass(slots=True)
class RePattern:
    """``CompiledPattern`` of a Python pattern; one search after the other."""

    compiled: re.Pattern[str]
    is_searching: bool = False

    @property
    def groups(self) -> int:
        return self.compiled.groups

    @property
    def names(self) -> Mapping[str, int]:
        return self.compiled.groupindex

    def matches(
        self,
        texts: Sequence[str],
        *,
        groups: Sequence[int],
        text_timeout_s: float,  # noqa: ARG002
    ) -> Iterator[PatternMatches]:
        if self.is_searching:
            raise RuntimeError("a pattern is used for one search after the other")
        self.is_searching = True
        try:
            for text in texts:
                yield self._matches_in(text, groups)
        finally:
            self.is_searching = False

    def _matches_in(self, text: str, groups: Sequence[int]) -> PatternMatches:
        offsets, empty = array("i"), 0
        for match in self.compiled.finditer(text):
            if match.start() == match.end():
                empty += 1
                continue
            for group in (0, *groups):
                offsets.extend(match.span(group))
        return PatternMatches(offsets, 2 + 2 * len(groups), empty)
