"""Passages for a language model: the hits of a search, joined, redacted and cut to a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from context_search.domain.model import HydratedChunk, Principal
from context_search.domain.retrieval import ChunkText, RetrievalSettings
from context_search.domain.text.packing import Dropped, Packing, Piece, Wanted, pack
from context_search.domain.text.redaction import Passage, Replacement
from context_search.ports.store import Store
from context_search.ports.tokens import TokenCounter
from context_search.services.catalog.hints import Hint
from context_search.services.indexing.status import live_tool, project_of
from context_search.services.searching.answer import Answer, Hit, hint_of
from context_search.services.searching.read_sources import Source, read_sources

Search = Callable[[int, Principal | None, str, int | None], Answer]
"""Tool or project, caller, question, and how many hits."""

# Of so many hits at most, those that are relevant enough are taken.
CANDIDATES = 100


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a caller wants otherwise than the project's settings; None leaves them."""

    top_k: int | None = None
    min_score: float | None = None
    max_tokens: int | None = None

    def applied_to(self, settings: RetrievalSettings) -> RetrievalSettings:
        """Returns the settings of one retrieval."""
        return replace(
            settings,
            top_k=settings.top_k if self.top_k is None else self.top_k,
            min_score=settings.min_score if self.min_score is None else self.min_score,
            max_tokens=settings.max_tokens if self.max_tokens is None else self.max_tokens,
        )


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Text for a prompt, from ``char_start`` to ``char_end`` of the string at the hits' pointer.

    ``hits`` are those in it, best first. Offsets count in the source; ``replacements`` say where
    ``text`` differs from it.
    """

    hits: tuple[Hit, ...]
    text: str
    char_start: int
    char_end: int
    tokens: int
    replacements: tuple[Replacement, ...]


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The passages, that with the best hit first, and what became of the other hits.

    ``below_min_score`` counts hits that were not relevant enough.
    """

    answer: Answer
    settings: RetrievalSettings
    tokenizer: str
    passages: tuple[Retrieved, ...]
    used_tokens: int
    dropped: tuple[Dropped, ...]
    below_min_score: int

    @property
    def hint(self) -> Hint | None:
        """Why there is no passage; None where there is one, or hits were ``dropped``."""
        if self.passages or self.dropped:
            return None
        if self.below_min_score:
            return hint_of(self.answer, hidden=self.below_min_score)
        return self.answer.hint


@dataclass(frozen=True, slots=True)
class RetrieveWithTool:
    """Retrieval from what a Search Tool may see, with the settings of its project."""

    store: Store
    search: Search
    counter: TokenCounter

    def __call__(
        self, tool_id: int, principal: Principal | None, query: str, wishes: Wishes
    ) -> Retrieval:
        """``principal`` None is a trusted internal caller. Raises what the search raises."""
        with self.store.transaction(project_of(principal)) as work:
            project_id = live_tool(work, tool_id, principal).project_id
            stored = work.retrieval_settings.read(project_id)
        answer = self.search(tool_id, principal, query, CANDIDATES)
        wished = wishes.applied_to(stored.settings)
        return retrieve(self.store, project_id, self.counter, answer, wished)


def retrieve(
    store: Store,
    project_id: int,
    counter: TokenCounter,
    answer: Answer,
    settings: RetrievalSettings,
) -> Retrieval:
    """Returns the passages of a search's best hits, as the settings say."""
    relevant = [hit for hit in answer.hits if hit.relevance >= settings.min_score]
    hits = {hit.chunk.id: hit for hit in relevant[: settings.top_k]}
    chunks = [hit.chunk for hit in hits.values()]
    read = _read(store, project_id, chunks, settings) if hits else []
    sources, texts = [source.chunks for source, _ in read], [passage for _, passage in read]

    def measure(piece: Piece) -> int:
        return counter.count(texts[piece.text].show(piece.start, piece.end).text)

    packing = pack(_wanted(hits, sources, settings.neighbours), measure, settings.max_tokens)
    return Retrieval(
        answer=answer,
        settings=settings,
        tokenizer=counter.name,
        passages=tuple(_retrieved(packing, texts, hits)),
        used_tokens=packing.used,
        dropped=packing.dropped,
        below_min_score=len(answer.hits) - len(relevant),
    )


def _read(
    store: Store, project_id: int, hits: Sequence[HydratedChunk], settings: RetrievalSettings
) -> list[tuple[Source, Passage]]:
    with store.transaction(project_id) as work:
        return read_sources(work.surroundings, hits, settings)


def _wanted(
    hits: Mapping[int, Hit], sources: Sequence[Sequence[ChunkText]], neighbours: int
) -> list[Wanted]:
    places = {
        chunk.id: (number, place)
        for number, chunks in enumerate(sources)
        for place, chunk in enumerate(chunks)
    }
    wanted = []
    for chunk_id in hits:
        number, place = places[chunk_id]
        pieces = [Piece(number, chunk.start, chunk.end) for chunk in sources[number]]
        near = [place + step for away in range(1, neighbours + 1) for step in (-away, away)]
        nearby = tuple(pieces[i] for i in near if 0 <= i < len(pieces))
        wanted.append(Wanted(chunk_id, pieces[place], nearby))
    return wanted


def _retrieved(
    packing: Packing, texts: Sequence[Passage], hits: Mapping[int, Hit]
) -> Iterator[Retrieved]:
    for part in packing.parts:
        piece = part.piece
        shown = texts[piece.text].show(piece.start, piece.end)
        yield Retrieved(
            hits=tuple(hits[i] for i in part.ids),
            text=shown.text,
            char_start=piece.start,
            char_end=piece.end,
            tokens=part.tokens,
            replacements=shown.replacements,
        )
