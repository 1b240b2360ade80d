"""What every reranker does: the fake, and litellm's over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from context_search.core.errors import RerankTimeoutError
from context_search.integrations.models.bounded_models import BoundedReranker
from context_search.integrations.models.litellm_reranker import LitellmReranker
from context_search.integrations.ports import Reranker
from testing.in_memory.reranker import WordReranker
from tests.integrations.rerank_server import RerankServer

QUESTION = "Who counted the comets?"
TEXTS = ["The harbour was empty.", "The keeper counted comets.", "Comets came back."]


@pytest.fixture(params=["fake", "litellm"])
def reranker(request: pytest.FixtureRequest) -> Iterator[Reranker]:
    if request.param == "fake":
        yield WordReranker()
        return
    with RerankServer().running() as url, ThreadPoolExecutor(4) as threads:
        asked = LitellmReranker("cohere/rerank-v3.5", api_key="key", api_base=url)
        yield BoundedReranker(asked, threads)


def test_a_better_text_has_a_higher_score(reranker: Reranker) -> None:
    scores = reranker.scores(QUESTION, TEXTS, timeout_s=30)
    assert sorted(scores, key=lambda place: -scores[place]) == [1, 2, 0]


def test_equal_texts_have_equal_scores(reranker: Reranker) -> None:
    scores = reranker.scores(QUESTION, [*TEXTS, TEXTS[1]], timeout_s=30)
    assert scores[3] == scores[1] > scores[0]


@pytest.mark.parametrize(
    "texts", [["comets", ""], ['"quoted"\n\t\\', "彗星 ☄️ 𝄞"], ["x" * 8_000] * 50, ["one"]]
)
def test_each_text_has_at_most_one_score_at_its_place(reranker: Reranker, texts: list[str]) -> None:
    scores = reranker.scores("comets 彗星", texts, timeout_s=30)
    assert 1 <= len(scores) <= len(texts)
    assert scores.keys() <= set(range(len(texts)))


def test_without_time_there_is_no_opinion(reranker: Reranker) -> None:
    with pytest.raises(RerankTimeoutError):
        reranker.scores(QUESTION, TEXTS, timeout_s=0)


def test_many_questions_at_once_do_not_mix(reranker: Reranker) -> None:
    def best(place: int) -> int:
        texts = ["nothing"] * 5
        texts[place] = "comets"
        scores = reranker.scores("comets", texts, timeout_s=30)
        return max(scores, key=scores.__getitem__)

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(best, [0, 1, 2, 3, 4] * 4)) == [0, 1, 2, 3, 4] * 4
