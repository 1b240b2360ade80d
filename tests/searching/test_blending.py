"""A second opinion beside our scores."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.ranking.search import Evidence, Hit
from context_search.searching.rerank_hits import blended
from tests.ranking.test_rank import chunk

WHY = Evidence(1, 1, 0.5, 3.0, 0.5, 0.5, 1.0, ())


def hits(*scores: float) -> list[Hit]:
    return [
        Hit(score, 0.5, "", chunk(f"d{number}"), replace(WHY, parts={"keyword": score}))
        for number, score in enumerate(scores)
    ]


def names(ranked: list[Hit]) -> list[str]:
    return [hit.chunk.turbopuffer_doc_id for hit in ranked]


def test_scores_are_mixed_and_the_evidence_says_from_what() -> None:
    ranked = blended(hits(0.8, 0.6, 0.5), {0: -4.0, 1: 6.0, 2: 1.0}, 0.5, is_by_rank=False)
    assert names(ranked) == ["d1", "d2", "d0"]
    assert [hit.score for hit in ranked] == pytest.approx([0.8, 0.5, 0.4])
    reported = [(hit.evidence.reranker, hit.evidence.parts) for hit in ranked if hit.evidence]
    assert reported == [
        (6.0, {"keyword": 0.3, "reranker": 0.5}),
        (1.0, {"keyword": 0.25, "reranker": 0.25}),
        (-4.0, {"keyword": 0.4}),
    ]


def test_nothing_of_an_opinion_changes_nothing_and_all_of_it_everything() -> None:
    opinions = {0: 1.0, 1: 2.0, 2: 3.0}
    ours = hits(0.8, 0.6, 0.5)
    unmoved = blended(ours, opinions, 0.0, is_by_rank=False)
    assert [(hit.score, hit.relevance) for hit in unmoved] == [(0.8, 0.5), (0.6, 0.5), (0.5, 0.5)]
    assert names(blended(ours, opinions, 1.0, is_by_rank=False)) == ["d2", "d1", "d0"]


def test_equal_scores_stay_in_their_order() -> None:
    same = {0: 0.3, 1: 0.3, 2: 0.3}
    assert names(blended(hits(0.5, 0.5, 0.5, 0.5), same, 0.5, is_by_rank=False)) == [
        "d0",
        "d1",
        "d2",
        "d3",
    ]


def test_a_text_that_the_model_left_out_counts_as_its_worst() -> None:
    ranked = blended(hits(0.8, 0.7, 0.1), {1: 9.0, 2: 5.0}, 0.5, is_by_rank=False)
    assert names(ranked) == ["d1", "d0", "d2"]
    assert [hit.score for hit in ranked] == pytest.approx([0.85, 0.4, 0.05])
    [left_out] = [hit.evidence for hit in ranked if hit.chunk.turbopuffer_doc_id == "d0"]
    assert left_out
    assert left_out.reranker is None
    assert "reranker" not in left_out.parts


def test_the_tiny_scores_of_rank_fusion_count_as_shares_of_the_best() -> None:
    tiny = hits(1 / 61, 1 / 62, 1 / 200)
    opinions = {0: 0.0, 1: 0.1, 2: 1.0}
    assert names(blended(tiny, opinions, 0.2, is_by_rank=True)) == ["d1", "d0", "d2"]


SCORES = st.floats(-1e6, 1e6)


@given(
    st.lists(st.floats(0, 1, allow_subnormal=False), min_size=2, max_size=12),
    st.dictionaries(st.integers(0, 5), SCORES, min_size=1, max_size=6),
    st.floats(0, 1),
    st.sampled_from(["convex", "rrf"]),
)
def test_parts_make_the_score_and_no_hit_that_was_not_asked_about_passes_one_that_was(
    scores: list[float], opinions: dict[int, float], blend: float, fusion: str
) -> None:
    ours = hits(*sorted(scores, reverse=True))
    asked = min(6, len(ours))
    opinions = {place: score for place, score in opinions.items() if place < asked}
    ranked = blended(ours, opinions, blend, is_by_rank=fusion == "rrf")
    assert sorted(names(ranked)) == sorted(names(ours))
    assert [hit.score for hit in ranked] == sorted((h.score for h in ranked), reverse=True)
    assert all(0 <= hit.score <= 1 for hit in ranked)
    assert names(ranked)[asked:] == names(ours)[asked:]
    for hit in ranked:
        assert hit.evidence
        assert sum(hit.evidence.parts.values()) == pytest.approx(hit.score)
