"""A reranking model's scores beside ours: which hits are better than they looked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from context_search.ranking.fusion import max_normalised, min_max
from context_search.ranking.search import Hit


def blended(
    hits: Sequence[Hit], opinions: Mapping[int, float], blend: float, *, is_by_rank: bool
) -> list[Hit]:
    """Returns all hits with the score ``(1 - blend) * score + blend * opinion``, best first.

    ``opinions`` are the model's scores by place among ``hits``, in any range: they are moved to
    0..1. Who has none counts 0, as the worst that has one: so no hit that the model was not asked
    about gets before one that it was. Equal scores stay in their order. ``is_by_rank``: scores are
    those of rank fusion, which are no shares of anything; then they count as shares of the best.
    """
    names = [hit.chunk.turbopuffer_doc_id for hit in hits]
    ours = {name: hit.score for name, hit in zip(names, hits, strict=True)}
    if is_by_rank:
        ours = max_normalised(ours)
    theirs = {names[place]: opinion for place, opinion in opinions.items()}
    shares = min_max(theirs)
    changed = [
        _with(hit, theirs.get(name), (1 - blend) * ours[name], blend * shares.get(name, 0.0))
        for name, hit in zip(names, hits, strict=True)
    ]
    return sorted(changed, key=lambda hit: -hit.score)


def _with(hit: Hit, opinion: float | None, own: float, added: float) -> Hit:
    """Each part of the score that a hit had counts as much less as that score does."""
    why = hit.evidence
    if why is not None:
        share = own / hit.score if hit.score else 0.0
        parts = {name: share * part for name, part in why.parts.items()}
        if added:
            parts["reranker"] = added
        why = replace(why, parts=parts, reranker=opinion)
    return replace(hit, score=own + added, evidence=why)
