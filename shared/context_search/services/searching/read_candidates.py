"""Reads what a ranking needs of its candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from context_search.domain.config import SearchConfig
from context_search.domain.model import HydratedChunk
from context_search.ports.reading import LiveChunks
from context_search.services.searching.answer import Found, LegName, Question, Target
from context_search.services.searching.ranking import LOOKED_AT, looked_at
from context_search.services.searching.widening import best_live


def read_candidates(
    rows: LiveChunks, target: Target, question: Question, found: Found
) -> dict[str, HydratedChunk]:
    """Returns the live candidates, by document id.

    Of more than LOOKED_AT in a linear ranking only those have a text that it looks at: the texts
    are most of what there is to read.
    """
    index, ids = target.index, found.ids
    if target.search.fusion != "linear" or len(ids) <= LOOKED_AT:
        return rows.hydrate(index, target.reach, ids)
    chunks = rows.hydrate(index, target.reach, ids, texts=False)
    best, live = best_live(found, chunks, question.candidates)
    first = looked_at(shared_by(target.search, found.legs), question, best, live)
    texts = rows.texts(index, first)
    if len(texts) < len(first):
        # Another version took their place meanwhile: one statement sees one state.
        return rows.hydrate(index, target.reach, ids)
    for name, text in texts.items():
        chunks[name] = replace(chunks[name], chunk_text=text)
    return chunks


def shared_by(search: SearchConfig, legs: Sequence[LegName]) -> SearchConfig:
    """A leg that did not run has no share of a linear score, as if it had not been asked for."""
    if search.fusion != "linear" or len(legs) != 1:
        return search
    if "keyword" in legs:
        return replace(search, vector_weight=0.0)
    return replace(search, bm25_weight=0.0)
