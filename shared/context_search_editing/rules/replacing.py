"""What a request to search and replace does to one string."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat

from context_search.core.documents import check_string
from context_search.core.errors import (
    InvalidInputError,
    ReplaceTooLargeError,
    TooManyMatchesError,
)
from context_search.text.batches import batches
from context_search.text.borders import Borders
from context_search.text.literals import Literal
from context_search.text.pattern_matches import PatternMatches
from context_search_editing.rules.edits import Edit, LeftOut, StringEdits
from context_search_editing.rules.template import Template

RULES_VERSION = 1
"""Raised with every change of what is found or what it becomes: older plans are then refused."""
MAX_FIND_CHARS = 1_000
MAX_REPLACE_WITH_CHARS = 10_000
MAX_MATCHES = 100_000
"""Maximum number of edits of one plan."""
MAX_GROWTH_CHARS = 50_000_000
"""By how much the edits of one plan may make its strings longer."""
MAX_LEFT_OUT = 1_000_000
"""Maximum number of places of one string that are looked at for nothing. Each may take 20 µs."""


NOTHING = StringEdits()
"""What is changed in most strings."""


@dataclass(frozen=True, slots=True)
class ReplaceRequest:
    """What is looked for, and what it becomes.

    ``find``: 1 to 1,000 characters, a literal or (``regex``) an RE2 pattern in which ``^`` and
    ``$`` are the ends of lines. ``replace_with``: up to 10,000; with ``regex`` a ``Template``.
    ``whole_characters``: a match never begins or ends inside a grapheme cluster.
    """

    find: str
    replace_with: str
    case_sensitive: bool = True
    whole_word: bool = False
    regex: bool = False
    whole_characters: bool = True


def check_request(request: ReplaceRequest) -> None:
    """Raises InvalidInputError for texts that are too long, or that no document can hold."""
    if not 1 <= len(request.find) <= MAX_FIND_CHARS:
        raise InvalidInputError(f"find must have 1 to {MAX_FIND_CHARS} characters")
    if len(request.replace_with) > MAX_REPLACE_WITH_CHARS:
        raise InvalidInputError(
            f"replace_with must have at most {MAX_REPLACE_WITH_CHARS} characters"
        )
    check_string(request.find)
    check_string(request.replace_with)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the rest of a plan may hold: edits, and characters that strings become longer by.

    ``plan_matches``: as many edits as the whole plan may hold.
    """

    matches: int = MAX_MATCHES
    growth: int = MAX_GROWTH_CHARS
    plan_matches: int = MAX_MATCHES

    def less(self, done: StringEdits) -> Allowance:
        """Returns what is left after one more string."""
        left = self.matches - len(done.edits)
        return replace(self, matches=left, growth=self.growth - done.growth)


class LiteralReplacer:
    """Carries out a request for a literal, string by string."""

    def __init__(self, request: ReplaceRequest) -> None:
        self.literal = Literal(request.find, case_sensitive=request.case_sensitive)
        self._request = request

    def edits_in(self, texts: Sequence[str], allowance: Allowance) -> Iterator[StringEdits]:
        """Yields what the request changes in each text, as ``edits_of`` does, in their order.

        No text has U+0000 in it, so what does not stand in joined texts stands in none of them.
        """
        for batch in batches(texts):
            if len(batch) > 1 and not self.literal.occurs_in("\0".join(batch)):
                yield from repeat(NOTHING, len(batch))
                continue
            for text in batch:
                edits = self.edits_of(text, allowance)
                allowance = allowance.less(edits)
                yield edits

    def edits_of(self, text: str, allowance: Allowance) -> StringEdits:
        """Returns what the request changes in ``text``.

        Raises TooManyMatchesError and ReplaceTooLargeError when ``allowance`` is not enough.
        """
        if not self.literal.occurs_in(text):
            return NOTHING
        found = _Found(allowance)
        becomes = self._request.replace_with
        for place in self.literal.places(text, _borders(text, self._request)):
            if place.inside_character:
                found.leave_inside_character()
            else:
                found.add(Edit(place.start, text[place.start : place.end], becomes))
        return found.result()


class PatternReplacer:
    """Carries out a request for a regular expression, with the matches that its engine found."""

    def __init__(self, request: ReplaceRequest, template: Template) -> None:
        self._request = request
        self._template = template

    def edits_in(
        self, texts: Sequence[str], matches: Iterable[PatternMatches], allowance: Allowance
    ) -> Iterator[StringEdits]:
        """Yields what the request changes in each text, as ``edits_of`` does, in their order."""
        for text, found in zip(texts, matches, strict=True):
            edits = self.edits_of(text, found, allowance)
            allowance = allowance.less(edits)
            yield edits

    def edits_of(self, text: str, matches: PatternMatches, allowance: Allowance) -> StringEdits:
        """Returns what the request changes in ``text``, in which ``matches`` were found.

        They come with the groups of the template. A match that is refused is not looked for again
        in another way. Raises as ``LiteralReplacer.edits_of`` does.
        """
        if not matches:
            return NOTHING
        found = _Found(allowance, LeftOut(empty=matches.empty, too_slow=int(matches.too_slow)))
        borders = _borders(text, self._request)
        for spans in matches:
            start, end = spans[:2]
            if not borders.is_word(start, end):
                continue
            if not borders.is_whole(start, end):
                found.leave_inside_character()
                continue
            found.expect(self._template.length(spans) - (end - start))
            found.add(Edit(start, text[start:end], self._template.expand(text, spans)))
        return found.result()


def _borders(text: str, request: ReplaceRequest) -> Borders:
    return Borders(text, whole_word=request.whole_word, whole_characters=request.whole_characters)


class _Found:
    """The edits of one string so far, within their limits."""

    def __init__(self, allowance: Allowance, left_out: LeftOut | None = None) -> None:
        self._allowance = allowance
        self._edits: list[Edit] = []
        self._growth = 0
        self._left_out = left_out or LeftOut()
        self._inside_character = 0
        self._already_equal = 0

    def expect(self, growth: int) -> None:
        """Notes by how much the next edit makes the string longer, before it is made."""
        if self._growth + growth > self._allowance.growth:
            raise ReplaceTooLargeError("the replacements are too long altogether: narrow the scope")

    def add(self, edit: Edit) -> None:
        if edit.found == edit.becomes:
            self._already_equal += 1
            self._look_at_limit()
            return
        self.expect(len(edit.becomes) - len(edit.found))
        if len(self._edits) == self._allowance.matches:
            most = self._allowance.plan_matches
            raise TooManyMatchesError(
                f"there are over {most:,} matches, as many as a plan may have: narrow the scope"
            )
        self._growth += max(0, len(edit.becomes) - len(edit.found))
        self._edits.append(edit)

    def leave_inside_character(self) -> None:
        self._inside_character += 1
        self._look_at_limit()

    def _look_at_limit(self) -> None:
        if self._inside_character + self._already_equal > MAX_LEFT_OUT:
            raise TooManyMatchesError(
                f"over {MAX_LEFT_OUT:,} places of one string stay as they are: narrow the scope"
            )

    def result(self) -> StringEdits:
        refused = LeftOut(self._inside_character, self._already_equal)
        return StringEdits(tuple(self._edits), self._left_out + refused)
