"""Passages for a language model: the hits of a search, joined, redacted and cut to a budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from context_search.domain.errors import NotFoundError
from context_search.domain.model import HydratedChunk
from context_search.domain.retrieval import ChunkText, RetrievalSettings
from context_search.domain.search import Answer, Hint, Hit, QuestionLimits
from context_search.domain.text.packing import Dropped, Packing, Piece, Wanted, pack
from context_search.domain.text.redaction import Excerpt, Replacement
from context_search.ports.outside import TokenCounter
from context_search.ports.store import Store
from context_search.services.searching.read_sources import Source, read_sources
from context_search.services.searching.targets import (
    Searched,
    SearchedProject,
    Searches,
    opened_for,
)

CANDIDATES = 100
"""Most hits among which those are taken that are relevant enough."""


@dataclass(frozen=True, slots=True)
class Passage:
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
    passages: tuple[Passage, ...]
    used_tokens: int
    dropped: tuple[Dropped, ...]
    below_min_score: int

    @property
    def hint(self) -> Hint | None:
        """Why there is no passage; None where there is one, or hits were ``dropped``."""
        if self.passages or self.dropped:
            return None
        if self.below_min_score:
            return self.answer.hint_at(hidden=self.below_min_score)
        return self.answer.hint


@dataclass(frozen=True, slots=True)
class Retrieve:
    """Retrieval from a tool's scope or a whole project, with the settings of the project.

    ``wanted`` is how many chunks the search has to bring: see ``QuestionLimits``.
    """

    store: Store
    search: Searches
    counter: TokenCounter
    wanted: int = 20

    def passages(self, searched: Searched, query: str, limits: QuestionLimits) -> Retrieval:
        """Returns the passages of the best hits. Limits narrow the settings.

        Raises NotFoundError for a tool that is not the caller's, and what the search raises.
        """
        project_id, settings = self._settings(searched, limits)
        answer = self.search.search(
            searched, query, replace(limits, top_k=CANDIDATES, wanted=self.wanted)
        )
        relevant = [hit for hit in answer.hits if hit.relevance >= settings.min_score]
        hits = {hit.chunk.id: hit for hit in relevant[: settings.top_k]}
        chunks = [hit.chunk for hit in hits.values()]
        read = _read(self.store, project_id, chunks, settings) if hits else []
        sources, texts = [source.chunks for source, _ in read], [passage for _, passage in read]

        def measure(piece: Piece) -> int:
            return self.counter.count(texts[piece.text].show(piece.start, piece.end).text)

        packing = pack(_wanted(hits, sources, settings.neighbours), measure, settings.max_tokens)
        return Retrieval(
            answer=answer,
            settings=settings,
            tokenizer=self.counter.name,
            passages=tuple(_retrieved(packing, texts, hits)),
            used_tokens=packing.used,
            dropped=packing.dropped,
            below_min_score=len(answer.hits) - len(relevant),
        )

    def _settings(
        self, searched: Searched, limits: QuestionLimits
    ) -> tuple[int, RetrievalSettings]:
        """Returns the project of what is searched, and how it retrieves."""
        with opened_for(self.store, searched) as work:
            if isinstance(searched, SearchedProject):
                project_id = searched.project_id
            else:
                tool = work.tools.find(searched.tool_id, project_id=searched.project_id)
                if tool is None:
                    raise NotFoundError("there is no such tool")
                project_id = tool.project_id
            return project_id, work.project_settings.read(project_id).settings.narrowed(limits)


def _read(
    store: Store, project_id: int, hits: Sequence[HydratedChunk], settings: RetrievalSettings
) -> list[tuple[Source, Excerpt]]:
    with store.for_project(project_id) as work:
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
    packing: Packing, texts: Sequence[Excerpt], hits: Mapping[int, Hit]
) -> Iterator[Passage]:
    for part in packing.parts:
        piece = part.piece
        shown = texts[piece.text].show(piece.start, piece.end)
        yield Passage(
            hits=tuple(hits[i] for i in part.ids),
            text=shown.text,
            char_start=piece.start,
            char_end=piece.end,
            tokens=part.tokens,
            replacements=shown.replacements,
        )
