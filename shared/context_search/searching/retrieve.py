"""Passages for a language model: the hits of a search, joined, redacted and cut to a budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from context_search.core.documents import text_of_chunks
from context_search.core.errors import NotFoundError
from context_search.core.model import HydratedChunk
from context_search.integrations.ports import TokenCounter
from context_search.ranking.duplicates import collapsed
from context_search.ranking.search import Hint, Hit, QuestionLimits, SearchResult
from context_search.searching.rules.packing import Dropped, Packing, Piece, WantedHit, pack
from context_search.searching.rules.retrieval import ChunkText, RetrievalSettings
from context_search.searching.rules.searched import Searched, SearchedProject
from context_search.searching.targets import Searches, opened_for
from context_search.store import Store
from context_search.text.redaction import Excerpt, Replacement, excerpt_of
from context_search.text.sensitive.kinds import SensitiveKind
from context_search.text.sensitive.spans import ReadText

if TYPE_CHECKING:
    from context_search.searching.sql.live_chunks import LiveChunks

CANDIDATES = 100
"""Most hits among which those are taken that are relevant enough."""
# Read beyond what is shown: so much, and where a secret may go on there, so much, once.
MARGIN_CHARS, MARGIN_CHUNKS = 512, 8
EXTENT_CHARS, EXTENT_CHUNKS = 8_192, 128


@dataclass(frozen=True, slots=True)
class Source:
    """A run of chunks of one text without gaps. ``wanted``: those that may be shown."""

    chunks: tuple[ChunkText, ...]
    wanted: range

    @property
    def shown(self) -> tuple[int, int]:
        """Where in the text the first wanted chunk begins and the last one ends."""
        return self.chunks[self.wanted.start].start, self.chunks[self.wanted.stop - 1].end

    @property
    def text(self) -> str:
        """Returns the text of the chunks; overlaps occur once."""
        begin = self.chunks[0].start
        return text_of_chunks((chunk.start - begin, chunk.text) for chunk in self.chunks)


def read_sources(
    rows: LiveChunks, hits: Sequence[HydratedChunk], settings: RetrievalSettings
) -> list[tuple[Source, Excerpt]]:
    """Returns the chunks around the hits, as runs without a gap, and what of them is sensitive.

    Where a secret may go on beyond what was read, all that may belong to it is sensitive.
    """
    neighbours, contents = settings.neighbours, {hit.content_hash for hit in hits}
    reach = _chunks_of(MARGIN_CHARS, max(map(_length, hits)), MARGIN_CHUNKS)
    found = rows.around([hit.id for hit in hits], contents=contents, reach=neighbours + reach)
    sources = _sources(found, hits, neighbours)
    ends = [end for source in sources for end in _open_ends(source, settings)]
    if ends:
        reach = _chunks_of(EXTENT_CHARS, min(map(_length, ends)), EXTENT_CHUNKS)
        more = rows.around([chunk.id for chunk in ends], contents=contents, reach=reach)
        known = {chunk.id: chunk for chunk in [*found, *more]}
        by_place = sorted(known.values(), key=lambda chunk: (chunk.set_id, chunk.index))
        sources = _sources(by_place, hits, neighbours)
    return [(source, _excerpt(source, settings)) for source in sources]


def _chunks_of(chars: int, length: int, most: int) -> int:
    return min(most, -(-chars // max(1, length)))


def _length(chunk: HydratedChunk | ChunkText) -> int:
    return len(chunk.text if isinstance(chunk, ChunkText) else chunk.chunk_text)


def _sources(
    chunks: Sequence[ChunkText], hits: Sequence[HydratedChunk], neighbours: int
) -> list[Source]:
    ids = {hit.id for hit in hits}
    known = {chunk.id for chunk in chunks}
    # Replaced since the search has read it: then it stands alone.
    alone = [[_alone(hit)] for hit in hits if hit.id not in known]
    sources = []
    for run in [*_runs(chunks), *alone]:
        places = [place for place, chunk in enumerate(run) if chunk.id in ids]
        if places:
            first, last = max(0, places[0] - neighbours), places[-1] + neighbours
            sources.append(Source(tuple(run), range(first, min(len(run), last + 1))))
    return sources


def _alone(hit: HydratedChunk) -> ChunkText:
    start, end = hit.char_start, hit.char_end
    return ChunkText(hit.id, -hit.id, hit.chunk_index, hit.total_chunks, start, end, hit.chunk_text)


def _runs(chunks: Iterable[ChunkText]) -> Iterator[list[ChunkText]]:
    # Within a run, the distance between a chunk's index and its place in the list is constant.
    numbered = groupby(enumerate(chunks), lambda pair: (pair[1].set_id, pair[1].index - pair[0]))
    return ([chunk for _, chunk in run] for _, run in numbered)


def _read_text(source: Source, settings: RetrievalSettings) -> ReadText:
    first, last = source.chunks[0], source.chunks[-1]
    start, end = source.shown
    return ReadText(
        source.text,
        start - first.start,
        end - first.start,
        is_first=first.index == 0,
        is_last=last.index == last.total - 1,
        has_keys="key" in settings.hidden_kinds,
    )


def _open_ends(source: Source, settings: RetrievalSettings) -> Iterator[ChunkText]:
    if settings.hidden_kinds:
        read = _read_text(source, settings)
        if read.is_open_before:
            yield source.chunks[0]
        if read.is_open_behind:
            yield source.chunks[-1]


def _excerpt(source: Source, settings: RetrievalSettings) -> Excerpt:
    read = _read_text(source, settings)
    return excerpt_of(read, source.chunks[0].start, settings.hidden_kinds)


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

    answer: SearchResult
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
        wanted = replace(limits, is_whole=True, wanted=self.wanted, collapse=True)
        answer = self.search.search(searched, query, wanted)
        answer = replace(answer, hits=answer.hits[:CANDIDATES])
        relevant = [hit for hit in answer.hits if hit.relevance >= settings.min_score]
        # After that: the best of some near-duplicates is not always the most relevant of them.
        hits = {hit.chunk.id: hit for hit in collapsed(relevant, settings.top_k)}
        chunks = [hit.chunk for hit in hits.values()]
        read = _read(self.store, project_id, chunks, settings) if hits else []
        sources, excerpts = [source.chunks for source, _ in read], [excerpt for _, excerpt in read]

        def measure(piece: Piece) -> int:
            return self.counter.count(excerpts[piece.text].show(piece.start, piece.end).text)

        packing = pack(_wanted(hits, sources, settings.neighbours), measure, settings.max_tokens)
        return Retrieval(
            answer=answer,
            settings=settings,
            tokenizer=self.counter.name,
            passages=tuple(_passages(packing, excerpts, hits)),
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
            stored = work.projects.settings(RetrievalSettings, project_id)
            return project_id, stored.settings.narrowed(limits)


def _read(
    store: Store, project_id: int, hits: Sequence[HydratedChunk], settings: RetrievalSettings
) -> list[tuple[Source, Excerpt]]:
    with store.for_project(project_id) as work:
        return read_sources(work.live_chunks, hits, settings)


def _wanted(
    hits: Mapping[int, Hit], sources: Sequence[Sequence[ChunkText]], neighbours: int
) -> list[WantedHit]:
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
        wanted.append(WantedHit(chunk_id, pieces[place], nearby))
    return wanted


def _passages(
    packing: Packing, excerpts: Sequence[Excerpt], hits: Mapping[int, Hit]
) -> Iterator[Passage]:
    for part in packing.parts:
        piece = part.piece
        shown = excerpts[piece.text].show(piece.start, piece.end)
        yield Passage(
            hits=tuple(hits[i] for i in part.ids),
            text=shown.text,
            char_start=piece.start,
            char_end=piece.end,
            tokens=part.tokens,
            replacements=shown.replacements,
        )


@dataclass(frozen=True, slots=True)
class RedactHits:
    """Redacts hits for agents that may not see keys and personal data.

    Hides the kinds that the project has chosen for its retrieval, also where that hides none."""

    store: Store

    def kinds(self, project_id: int) -> tuple[SensitiveKind, ...]:
        """Returns what is hidden."""
        with self.store.for_project(project_id) as work:
            return work.projects.settings(RetrievalSettings, project_id).settings.kinds

    def excerpts(self, project_id: int, hits: Sequence[HydratedChunk]) -> Mapping[int, Excerpt]:
        """Returns by chunk id the text around each hit, and what of it must not be shown."""
        if not hits:
            return {}
        with self.store.for_project(project_id) as work:
            settings = work.projects.settings(RetrievalSettings, project_id).settings
            alone = replace(settings, neighbours=0, redaction=True)
            sources = read_sources(work.live_chunks, hits, alone)
        return {chunk.id: excerpt for source, excerpt in sources for chunk in source.chunks}
