"""``search``: one question, or several, to all collections of a caller at once."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

from context_search.agents.list_tools import ListTools, NamedTool
from context_search.core.callers import Principal
from context_search.core.errors import ContextSearchError, SearchTimeoutError
from context_search.integrations.ports import Clock, TokenCounter
from context_search.ranking.search import Hint, QuestionLimits, SearchResult
from context_search.reading.collections import named_collection
from context_search.reading.passages import (
    DescribePassages,
    FoundHit,
    HitsOfRange,
    Passage,
)
from context_search.searching.rules.packing import Piece, WantedHit, pack
from context_search.searching.rules.searched import SearchedTool
from context_search.searching.targets import Searches

ASKED_AT_ONCE = 8
SEARCH_S = QuestionLimits().seconds
"""Seconds for the searches of all collections together."""
DEFAULT_TOP_K = 5
MAX_TOP_K = 20
DEFAULT_TOKENS = 6_000
MAX_TEXT_BYTES = 48_000
"""Maximum size of all passages in JSON: with what stands around them they fit into a result."""


@dataclass(frozen=True, slots=True)
class DegradedSearch:
    """A collection that was not searched, or not as it should be, and the code of why."""

    collection: str
    reason: str


@dataclass(frozen=True, slots=True)
class FoundPassages:
    """The passages, best first, of ``total`` that there are. ``is_cut``: the only one is not whole.

    ``hint`` says why there is none, where all collections say the same.
    """

    passages: Sequence[Passage]
    total: int
    degraded: Sequence[DegradedSearch] = ()
    is_cut: bool = False
    hint: Hint | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question to a collection, and its answer or why there is none."""

    named: NamedTool
    query: str
    answer: SearchResult | None = None
    error: ContextSearchError | None = None

    @property
    def reasons(self) -> Sequence[str]:
        """The codes of what was not as it should be."""
        if self.error is not None:
            return [self.error.code]
        return [] if self.answer is None else self.answer.degraded

    @property
    def hits(self) -> Iterator[FoundHit]:
        """What was found."""
        if self.answer is not None:
            for hit in self.answer.hits:
                yield FoundHit(self.named.name, self.query, self.answer.target, hit)


@dataclass(frozen=True, slots=True)
class SearchAll:
    """Searches all collections of a caller, or one, and joins what is found."""

    tools: ListTools
    search: Searches
    describe: DescribePassages
    counter: TokenCounter
    clock: Clock

    def passages(
        self,
        principal: Principal,
        queries: Sequence[str],
        collection: str | None,
        top_k: int,
        max_tokens: int,
    ) -> FoundPassages:
        """Returns the most relevant passages that fit into ``max_tokens``.

        Raises InvalidInputError for an unknown collection, and what a search raises where none has
        an answer.
        """
        named = self._collections(principal, collection)
        answered = self._ask(principal, named, list(dict.fromkeys(queries)), top_k)
        degraded = [
            DegradedSearch(each.named.name, reason) for each in answered for reason in each.reasons
        ]
        hits = sorted(
            (hit for each in answered for hit in each.hits), key=lambda hit: -hit.hit.relevance
        )
        found = self._packed(principal, hits, top_k, max_tokens)
        hints = {each.answer.hint for each in answered if each.answer is not None}
        hint = hints.pop() if len(hints) == 1 else None
        return replace(found, degraded=list(dict.fromkeys(degraded)), hint=hint)

    def _collections(self, principal: Principal, collection: str | None) -> list[NamedTool]:
        if collection is not None:
            tool = named_collection(self.tools, principal, collection)
            return [NamedTool(collection, tool)]
        found: list[NamedTool] = []
        after: int | None = 0
        while after is not None:
            page, after = self.tools.page(principal, after=after)
            found += page
        return found

    def _ask(
        self, principal: Principal, named: Sequence[NamedTool], queries: Sequence[str], top_k: int
    ) -> list[_Asked]:
        """Returns all answers. Raises the first error where there is none.

        The first collection alone has each question embedded: then its vector is known to those
        behind it, most of which have the same model.
        """
        until = self.clock.monotonic() + SEARCH_S
        ask = partial(self._asked, principal, top_k=top_k, until=until)
        with ThreadPoolExecutor(ASKED_AT_ONCE) as threads:
            answered = _all_of(threads, ask, product(named[:1], queries))
            answered += _all_of(threads, ask, product(named[1:], queries))
        errors = [each.error for each in answered if each.error is not None]
        if errors and len(errors) == len(answered):
            raise errors[0]
        return answered

    def _asked(
        self, principal: Principal, named: NamedTool, query: str, *, top_k: int, until: float
    ) -> _Asked:
        seconds = until - self.clock.monotonic()
        try:
            if seconds <= 0:
                raise SearchTimeoutError("no time is left for this collection")
            limits = QuestionLimits(top_k=top_k, seconds=seconds)
            searched = SearchedTool.by(principal, named.tool.id)
            return _Asked(named, query, answer=self.search.search(searched, query, limits))
        except ContextSearchError as error:
            return _Asked(named, query, error=error)

    def _packed(
        self, principal: Principal, hits: Sequence[FoundHit], top_k: int, max_tokens: int
    ) -> FoundPassages:
        """Returns the first passages that the hits are joined to, as far as they fit."""
        keys = {key: number for number, key in enumerate({hit.text_key: None for hit in hits})}
        pieces = [
            Piece(keys[hit.text_key], hit.chunk.char_start, hit.chunk.char_end) for hit in hits
        ]
        if not pieces:
            return FoundPassages([], 0)
        taken = _first(pieces, top_k)
        texts, names = self.describe.texts(principal, hits[:taken]), list(keys)

        def measure(piece: Piece) -> int:
            text = texts.text(names[piece.text], piece.start, piece.end)
            size = len(json.dumps(text, ensure_ascii=False).encode())
            return max(self.counter.count(text), size * max_tokens // MAX_TEXT_BYTES)

        wanted = [WantedHit(number, piece) for number, piece in enumerate(pieces[:taken])]
        packing = pack(wanted, measure, max_tokens)
        ranges = [
            HitsOfRange([hits[at] for at in part.ids], part.piece.start, part.piece.end)
            for part in packing.parts
        ]
        if not ranges:
            beginning = _cut(pieces[0], measure, max_tokens)
            ranges = [HitsOfRange(hits[:1], beginning.start, beginning.end)]
        shown = [part.piece for part in packing.parts] or pieces[:1]
        others = [part for part in _joined(pieces) if not any(map(part.touches, shown))]
        passages = self.describe.described(principal, ranges, texts)
        return FoundPassages(passages, len(shown) + len(others), is_cut=not packing.parts)


def _all_of(
    threads: ThreadPoolExecutor,
    ask: Callable[[NamedTool, str], _Asked],
    questions: Iterable[tuple[NamedTool, str]],
) -> list[_Asked]:
    """Returns the answers in order; each question has what logs know of the request."""
    asked = [threads.submit(partial(copy_context().run, ask, *question)) for question in questions]
    return [each.result() for each in asked]


def _first(pieces: Sequence[Piece], most: int) -> int:
    """Returns how many pieces make the first ``most`` passages."""
    parts: list[Piece] = []
    for number, piece in enumerate(pieces):
        near = [part for part in parts if part.touches(piece)]
        if not near and len(parts) == most:
            return number
        parts = [part for part in parts if part not in near] + _joined([piece, *near])
    return len(pieces)


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Returns pieces of which none touches another."""
    parts: list[Piece] = []
    for piece in sorted(pieces, key=lambda each: (each.text, each.start)):
        if parts and parts[-1].touches(piece):
            last = parts.pop()
            piece = Piece(piece.text, last.start, max(last.end, piece.end))  # noqa: PLW2901
        parts.append(piece)
    return parts


def _cut(piece: Piece, measure: Callable[[Piece], int], most: int) -> Piece:
    """Returns the beginning of a piece that has at most so many tokens, or one character."""
    lengths = range(1, piece.end - piece.start + 1)
    fitting = bisect_right(
        lengths, most, key=lambda n: measure(Piece(piece.text, piece.start, piece.start + n))
    )
    return Piece(piece.text, piece.start, piece.start + max(fitting, 1))
