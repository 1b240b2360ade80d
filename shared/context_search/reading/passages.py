"""Passages that agents read: the text of hits, what it is called, where it stands, its address."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from context_search.core.callers import Principal
from context_search.core.cites import Cite
from context_search.core.model import HydratedChunk
from context_search.integrations.ports import Clock
from context_search.ranking.search import Hit, Target
from context_search.reading.urls import CitedPlace, place_urls
from context_search.searching.retrieve import RedactHits
from context_search.searching.titles import MAX_TITLE_CHARS, READ_WITHIN_S, titles_of
from context_search.store import Store
from context_search.text.redaction import Excerpt, excerpt_of
from context_search.text.sensitive.kinds import SensitiveKind
from context_search.text.sensitive.spans import ReadText

TextKey = tuple[int, str, str]
"""What a text is known by: table, pointer, content hash."""


@dataclass(frozen=True, slots=True)
class FoundHit:
    """A hit in a collection; ``query`` is what was asked, ``target`` what was searched."""

    collection: str
    query: str
    target: Target
    hit: Hit

    @property
    def chunk(self) -> HydratedChunk:
        """Returns its chunk."""
        return self.hit.chunk

    @property
    def text_key(self) -> TextKey:
        """Hits of one text have the same."""
        return self.chunk.table_id, self.chunk.json_pointer, self.chunk.content_hash


@dataclass(frozen=True, slots=True)
class HitsOfRange:
    """Characters ``start`` to ``end`` of a text, and the hits in them, best first."""

    hits: Sequence[FoundHit]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Passage:
    """Text for a model, from ``start`` to ``end`` of a string.

    ``queries`` have found it. ``url`` None: there is no address of it.
    """

    cite: Cite
    title: str
    text: str
    collection: str
    table_id: int
    json_pointer: str
    start: int
    end: int
    relevance: float
    stale: bool
    queries: Sequence[str]
    url: str | None = None


@dataclass(frozen=True, slots=True)
class ShownTexts:
    """The texts of hits as a caller may see them; ``excerpts`` by chunk id, None: as they are."""

    chunks: Mapping[TextKey, Sequence[HydratedChunk]]
    excerpts: Mapping[int, Excerpt] | None

    @classmethod
    def of(cls, hits: Sequence[FoundHit], excerpts: Mapping[int, Excerpt] | None) -> ShownTexts:
        """Returns the texts of hits."""
        by_place = sorted(hits, key=lambda hit: (hit.text_key, hit.chunk.char_start))
        grouped = groupby(by_place, key=lambda hit: hit.text_key)
        return cls({key: [hit.chunk for hit in group] for key, group in grouped}, excerpts)

    def text(self, key: TextKey, start: int, end: int) -> str:
        """Returns characters of a text, all of which stand in hits."""
        parts, at = [], start
        for chunk in self.chunks[key]:
            stop = min(chunk.char_end, end)
            if chunk.char_start <= at < stop:
                parts.append(self._part(chunk, at, stop))
                at = stop
        return "".join(parts)

    def _part(self, chunk: HydratedChunk, start: int, end: int) -> str:
        if self.excerpts is None:
            return chunk.chunk_text[start - chunk.char_start : end - chunk.char_start]
        return self.excerpts[chunk.id].show(start, end).text


@dataclass(frozen=True, slots=True)
class DescribePassages:
    """Makes passages of hits. ``public_url``: where the deployment is, if it is told."""

    store: Store
    clock: Clock
    redaction: RedactHits
    public_url: str = ""

    def texts(self, principal: Principal, hits: Sequence[FoundHit]) -> ShownTexts:
        """Returns the texts of hits as the caller may see them."""
        if not principal.redacts:
            return ShownTexts.of(hits, None)
        chunks = {hit.chunk.id: hit.chunk for hit in hits}
        excerpts = self.redaction.excerpts(principal.project_id, list(chunks.values()))
        return ShownTexts.of(hits, excerpts)

    def alone(self, principal: Principal, hits: Sequence[FoundHit]) -> list[Passage]:
        """Returns a passage for each hit."""
        ranges = [HitsOfRange([hit], hit.chunk.char_start, hit.chunk.char_end) for hit in hits]
        return self.described(principal, ranges, self.texts(principal, hits))

    def described(
        self, principal: Principal, ranges: Sequence[HitsOfRange], texts: ShownTexts
    ) -> list[Passage]:
        """Returns a passage for each range. Some have no title where reading that takes long."""
        titles = self._titles(principal, [each.hits[0] for each in ranges])
        passages = [_passage(each, texts, titles[each.hits[0].chunk.id]) for each in ranges]
        places = [CitedPlace(each.cite, each.json_pointer) for each in passages]
        with self.store.for_project(principal.project_id) as work:
            urls = place_urls(work, self.public_url, principal.project_id, places)
        return [replace(each, url=url) for each, url in zip(passages, urls, strict=True)]

    def _titles(self, principal: Principal, hits: Sequence[FoundHit]) -> Mapping[int, str]:
        """Returns what hits are called, by chunk id; secrets in it are hidden, too."""
        by_target: dict[str, list[FoundHit]] = defaultdict(list)
        for hit in hits:
            by_target[hit.collection].append(hit)
        titles: dict[int, str] = {}
        until = self.clock.monotonic() + READ_WITHIN_S
        for group in by_target.values():
            chunks = [hit.chunk for hit in group]
            if self.clock.monotonic() < until:
                titles |= titles_of(self.store, self.clock, group[0].target, chunks)
        if principal.redacts and titles:
            kinds = self.redaction.kinds(principal.project_id)
            titles = {chunk_id: redacted_title(title, kinds) for chunk_id, title in titles.items()}
        return {hit.chunk.id: titles.get(hit.chunk.id, "") for hit in hits}


def redacted_title(title: str, kinds: Sequence[SensitiveKind], most: int = MAX_TITLE_CHARS) -> str:
    """Returns a title, cut to ``most`` characters, without what is or may be sensitive in it."""
    is_whole, has_keys = len(title) < most, "key" in kinds
    read = ReadText(title, 0, len(title), is_first=True, is_last=is_whole, has_keys=has_keys)
    return excerpt_of(read, 0, kinds).show(0, len(title)).text


def _passage(found: HitsOfRange, texts: ShownTexts, title: str) -> Passage:
    best, start, end = found.hits[0], found.start, found.end
    table_id, pointer, _ = best.text_key
    text = texts.text(best.text_key, start, end)
    revision = max(hit.chunk.revision for hit in found.hits)
    cited = text if texts.excerpts is None else None
    return Passage(
        Cite.of(table_id, pointer, revision, start, cited, end),
        title,
        text,
        best.collection,
        table_id,
        pointer,
        start,
        end,
        best.hit.relevance,
        any(hit.chunk.stale for hit in found.hits),
        tuple(dict.fromkeys(hit.query for hit in found.hits)),
    )
