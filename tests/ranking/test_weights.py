"""What weighs the legs of a search, and what its cosines mean: found, known, or neither."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.core.config import SearchConfig, WeightsFrom
from context_search.core.model import HydratedChunk, Index, IndexCalibration, Reach
from context_search.ranking.rank import rank
from context_search.ranking.relevance import (
    CALIBRATIONS,
    DEFAULT_CALIBRATION,
    LEAST_WIDTH,
    Calibration,
    calibration_of,
    relevance,
    weights_of,
)
from context_search.ranking.search import LegResults, Question, Target
from tests.builders import an_index

NOW = datetime(2026, 1, 1, tzinfo=UTC)
[WEAK] = CALIBRATIONS
FOUND = IndexCalibration(0.35, 0.8, 0.02, 40, 500, NOW)
NO_WEIGHT = replace(FOUND, vector_weight=None, questions=3)
AUTOMATIC = SearchConfig()
FIXED = SearchConfig(vector_weight=0.9, bm25_weight=0.3)


def index(model: str = "any", found: IndexCalibration | None = None) -> Index:
    plain = an_index()
    generation = replace(plain.generation, calibration=found)
    return replace(plain, config=replace(plain.config, model=model), generation=generation)


@pytest.mark.parametrize(
    ("search", "of", "vector", "bm25", "source"),
    [
        (FIXED, index(found=FOUND), 0.9, 0.3, "tool"),
        (AUTOMATIC, index(found=FOUND), 0.35, 0.65, "calibration"),
        (AUTOMATIC, index(WEAK, FOUND), 0.35, 0.65, "calibration"),
        (AUTOMATIC, index(found=NO_WEIGHT), 0.5, 0.5, "model"),
        (AUTOMATIC, index(), 0.5, 0.5, "model"),
        (AUTOMATIC, index(WEAK), 0.2, 0.8, "model"),
        (replace(AUTOMATIC, vector_weight=0.0, bm25_weight=1.0), index(), 0.0, 1.0, "tool"),
    ],
)
def test_weights_are_the_tools_or_found_or_those_of_the_model(
    search: SearchConfig, of: Index, vector: float, bm25: float, source: WeightsFrom
) -> None:
    weights = weights_of(search, of)
    assert (weights.vector, weights.bm25, weights.source) == (vector, bm25, source)
    assert weights.recency == search.recency_weight


def chunk(name: str) -> HydratedChunk:
    return HydratedChunk(1, 1, f"/{name}", 0, 1, "harbour", 0, 7, "hash", "ns", name, NOW)


@pytest.mark.parametrize(
    ("legs", "vector", "bm25"),
    [(("vector", "keyword"), 0.35, 0.65), (("keyword",), 0.0, 0.65), (("vector",), 0.35, 0.0)],
)
def test_in_a_linear_fusion_a_leg_that_did_not_run_has_no_weight(
    legs: tuple[str, ...], vector: float, bm25: float
) -> None:
    target = Target(index(found=FOUND), Reach(), replace(AUTOMATIC, fusion="linear"), "ready")
    question = Question("harbour", {"harbour": 1.0}, "hybrid", 5, NOW)
    found = LegResults(vector={"a": 0.5}, keyword={"a": 2.0}, legs=legs)  # type: ignore[arg-type]
    used = rank(target, question, found, {"a": chunk("a")}).target.weights
    assert (used.vector, used.bm25, used.source) == (vector, bm25, "calibration")


def test_a_found_weight_decides_which_leg_wins() -> None:
    chunks = {name: chunk(name) for name in ("near", "worded", "far")}
    question = Question("harbour", {"harbour": 1.0}, "hybrid", 5, NOW)
    found = LegResults(
        vector={"near": 0.9, "worded": 0.5, "far": 0.1},
        keyword={"worded": 9.0, "near": 5.0, "far": 1.0},
        legs=("vector", "keyword"),
    )

    def first(weight: float) -> str:
        of = index(found=replace(FOUND, vector_weight=weight))
        target = Target(of, Reach(), replace(AUTOMATIC, fusion="convex"), "ready")
        return rank(target, question, found, chunks).hits[0].chunk.turbopuffer_doc_id

    assert (first(0.1), first(0.65)) == ("worded", "near")


SIMILAR = {f"c{number}": 0.9 - 0.005 * number for number in range(50)}


def test_cosines_mean_what_was_found_or_what_is_known_of_the_model() -> None:
    found = Calibration(FOUND.middle, FOUND.width)
    assert calibration_of(index(found=FOUND), SIMILAR) == found
    assert calibration_of(index(WEAK, FOUND), SIMILAR) == found
    assert calibration_of(index(WEAK), SIMILAR) == CALIBRATIONS[WEAK]


@pytest.mark.parametrize("candidates", [0, 1, 10])
def test_with_few_candidates_of_a_model_that_nobody_knows_there_is_a_guess(candidates: int) -> None:
    few = dict(list(SIMILAR.items())[:candidates])
    assert calibration_of(index(), few) == DEFAULT_CALIBRATION


def test_else_a_cosine_counts_by_how_far_it_leads_the_ranks_11_to_20() -> None:
    flat = dict.fromkeys(SIMILAR, 0.85)
    calibration = calibration_of(index(), {**flat, "best": 0.86})
    assert relevance(0.86, {"x": 1.0}, [], calibration) < 0.1
    calibration = calibration_of(index(), {**flat, "best": 0.91})
    assert relevance(0.91, {"x": 1.0}, [], calibration) > 0.9


@given(st.lists(st.floats(-1, 1), min_size=11, max_size=60))
def test_what_follows_from_candidates_is_always_usable(cosines: list[float]) -> None:
    calibration = calibration_of(index(), {str(n): value for n, value in enumerate(cosines)})
    assert calibration.width >= LEAST_WIDTH
    for cosine in (-1.0, *cosines, 1.0):
        assert 0.0 <= relevance(cosine, {"x": 1.0}, [], calibration) <= 1.0


def test_how_languages_compare_does_not_move_with_what_was_found_about_a_known_model() -> None:
    texts = {"own": "harbour", "zh": "港口在冬天关闭", "zh2": "别的文字"}
    chunks = {name: chunk(name)._replace(chunk_text=text) for name, text in texts.items()}
    question = Question("harbour in winter", {"harbour": 1.0, "winter": 1.0}, "hybrid", 5, NOW)
    found = LegResults(
        vector={"zh": 0.4, "own": 0.3, "zh2": 0.1}, keyword={"own": 2.0}, legs=("vector", "keyword")
    )

    def scores(of: Index) -> list[tuple[str, float]]:
        hits = rank(Target(of, Reach(), FIXED, "ready"), question, found, chunks).hits
        return [(hit.json_path, hit.score) for hit in hits]

    assert scores(index(WEAK, FOUND)) == scores(index(WEAK))
    assert scores(index("any", FOUND)) != scores(index(WEAK))


@pytest.mark.parametrize(("lead", "place"), [(0.018, 3), (0.01, 6)])
def test_how_far_a_passage_stands_out_is_measured_by_what_was_found(
    lead: float, place: int
) -> None:
    own = {f"o{number}": f"harbour {'x' * number} " * 40 for number in range(1, 6)}
    texts = {**own, "f1": "港口的开放时间", "f2": "渡船的价格", "f3": "灯塔的历史"}
    vector = {"o1": 0.9, "f1": 0.84 + lead, "o2": 0.8, "f2": 0.84, "f3": 0.84}
    chunks = {
        name: HydratedChunk(number, 1, f"/{name}", 0, 1, text, 0, 9, "h", "ns", name, NOW)
        for number, (name, text) in enumerate(texts.items())
    }
    question = Question("harbour", {"harbour": 1.0}, "hybrid", 50, NOW)
    found = LegResults(vector=vector, keyword={name: 9.0 - n for n, name in enumerate(own)})
    of = index(found=replace(FOUND, middle=0.9, width=0.02))
    hits = rank(Target(of, Reach(), AUTOMATIC, "ready"), question, found, chunks).hits
    assert [hit.chunk.turbopuffer_doc_id for hit in hits].index("f1") + 1 == place
