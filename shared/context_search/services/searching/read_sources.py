"""The texts around hits, read as far as it takes to recognise what must not be shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from context_search.domain.documents import text_of_chunks
from context_search.domain.model import HydratedChunk
from context_search.domain.retrieval import ChunkText, RetrievalSettings
from context_search.domain.text.redaction import Excerpt
from context_search.domain.text.sensitive import Sensitive, find_sensitive, united
from context_search.domain.text.sensitive.spans import ReadText
from context_search.ports.searching import Surroundings

# Read beyond what is shown: so much, and where a secret may go on there, so much, once.
MARGIN_CHARS, MARGIN_CHUNKS = 512, 8
EXTENT_CHARS, EXTENT_CHUNKS = 8_192, 128


@dataclass(frozen=True, slots=True)
class Source:
    """Chunks of one text without a gap between them; ``wanted`` of them may be shown, in places."""

    chunks: tuple[ChunkText, ...]
    wanted: range

    @property
    def shown(self) -> tuple[int, int]:
        """Where in the text the first wanted chunk begins and the last one ends."""
        return self.chunks[self.wanted.start].start, self.chunks[self.wanted.stop - 1].end

    @property
    def text(self) -> str:
        """The chunks' text, what overlaps once."""
        begin = self.chunks[0].start
        return text_of_chunks((chunk.start - begin, chunk.text) for chunk in self.chunks)


def read_sources(
    surroundings: Surroundings, hits: Sequence[HydratedChunk], settings: RetrievalSettings
) -> list[tuple[Source, Excerpt]]:
    """Returns the chunks around the hits, as runs without a gap, and what of them is sensitive.

    Where a secret may go on beyond what was read, all that may belong to it is sensitive.
    """
    neighbours = settings.neighbours
    reach = _chunks_of(MARGIN_CHARS, max(map(_length, hits)), MARGIN_CHUNKS)
    found = surroundings.around([hit.id for hit in hits], reach=neighbours + reach)
    sources = _sources(found, hits, neighbours)
    ends = [end for source in sources for end in _open_ends(source, settings)]
    if ends:
        reach = _chunks_of(EXTENT_CHARS, min(map(_length, ends)), EXTENT_CHUNKS)
        more = surroundings.around([chunk.id for chunk in ends], reach=reach)
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
    read, kinds = _read_text(source, settings), settings.hidden_kinds
    found = list(find_sensitive(read.text, kinds))
    if kinds:
        found += [Sensitive(kinds[0], start, end) for start, end in read.doubtful()]
    return Excerpt(read.text, source.chunks[0].start, united(found))
