"""LitellmEmbedder over real litellm: order, batches, deadlines, and replies it must refuse."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest

from context_search.core.errors import EmbeddingDimensionMismatchError, EmbeddingTimeoutError
from context_search.integrations.models.litellm_embedder import LitellmEmbedder
from tests.integrations.scripted_embeddings import CANARY, echo, embedder, item, scripted, vector


def test_passages_come_back_one_vector_each_in_order_and_in_batches() -> None:
    calls: list[dict[str, Any]] = []
    texts = ["a" * length for length in (5, 1, 9, 2, 7)]
    vectors = embedder(echo, calls, batch_size=2).embed_passages(texts, timeout_s=30)
    assert vectors == [vector(len(text)) for text in texts]
    assert [call["input"] for call in calls] == [texts[:2], texts[2:4], texts[4:]]


def test_queries_and_passages_carry_their_own_parameters_to_the_provider() -> None:
    calls: list[dict[str, Any]] = []
    both = embedder(
        echo, calls, query_params={"input_type": "query"}, passage_params={"input_type": "passage"}
    )
    assert both.embed_query("abcd", timeout_s=30) == vector(4)
    both.embed_passages(["ab"], timeout_s=30)
    assert both.embed_queries(["a", "bb"], timeout_s=30) == [vector(1), vector(2)]
    assert [call["optional_params"] for call in calls] == [
        {"input_type": "query"},
        {"input_type": "passage"},
        {"input_type": "query"},
    ]
    assert (both.model, both.dimensions) == ("scripted/model", 3)


def test_equal_parameters_have_equal_keys_that_do_not_tell_them() -> None:
    first = {"input_type": CANARY, "extra_body": {"a": 1, "b": 2}}
    again = {"extra_body": {"b": 2, "a": 1}, "input_type": CANARY}
    one, other = embedder(echo, passage_params=first), embedder(echo, passage_params=again)
    assert one.passage_key == other.passage_key != ""
    assert CANARY not in one.passage_key
    assert embedder(echo, query_params=first).query_key == one.passage_key
    assert embedder(echo, passage_params={"input_type": "x"}).passage_key != one.passage_key
    assert embedder(echo, passage_params={}).passage_key == one.query_key == ""


def test_a_reordered_reply_is_sorted_by_its_indexes() -> None:
    vectors = embedder(lambda call: echo(call)[::-1]).embed_passages(["a", "bb"], timeout_s=30)
    assert vectors == [vector(1), vector(2)]


def test_a_reply_without_indexes_keeps_the_providers_order() -> None:
    def answer(call: dict[str, Any]) -> Any:
        return [{"embedding": vector(len(text))} for text in call["input"]]

    assert embedder(answer).embed_passages(["a", "bb"], timeout_s=30) == [vector(1), vector(2)]


BAD_REPLIES: dict[str, Any] = {
    "no vectors": [],
    "nothing": None,
    "an index twice": [item(0), item(0)],
    "an index beyond the end": [item(0), item(2)],
    "only one index": [item(0), {"embedding": vector(1)}],
    "a vector in base64": [item(0, "AAAA"), item(1, "AAAA")],
    "a number in quotes": [item(0, [0.1, "0.2", 0.3]), item(1)],
    "both infinities": [item(0), item(1, [math.inf, -math.inf, 0.3])],
    "no embeddings at all": [{"index": 0}, {"index": 1}],
    "not objects": ["x", "y"],
}


@pytest.mark.parametrize("reply", BAD_REPLIES.values(), ids=BAD_REPLIES.keys())
def test_a_reply_that_the_model_does_not_promise_is_a_dimension_mismatch(reply: Any) -> None:
    with pytest.raises(EmbeddingDimensionMismatchError) as caught:
        embedder(lambda _call: reply).embed_passages([CANARY, "b"], timeout_s=30)
    assert not caught.value.retryable
    assert CANARY not in str(caught.value)


def test_numbers_whose_sum_is_beyond_any_are_vectors() -> None:
    large = [1e308, 1e308, 1e308]
    assert embedder(lambda _: [item(0, large)]).embed_passages(["a"], timeout_s=30) == [large]


def test_a_bad_second_batch_fails_the_whole_call() -> None:
    def answer(call: dict[str, Any]) -> Any:
        return echo(call) if call["input"] == ["a"] else []

    with pytest.raises(EmbeddingDimensionMismatchError):
        embedder(answer, batch_size=1).embed_passages(["a", "b"], timeout_s=30)


def test_every_request_gets_what_is_left_of_the_deadline() -> None:
    calls: list[dict[str, Any]] = []
    embedder(echo, calls, batch_size=1).embed_passages(["a", "b", "c"], timeout_s=30)
    left = [call["timeout"] for call in calls]
    assert left == sorted(left, reverse=True)
    assert 0 < left[-1] < left[0] <= 30


def test_no_request_is_sent_after_the_deadline() -> None:
    calls: list[dict[str, Any]] = []
    with pytest.raises(EmbeddingTimeoutError):
        embedder(echo, calls).embed_query("a", timeout_s=0)
    assert calls == []


def test_no_texts_need_no_provider() -> None:
    def refuse() -> None:
        raise AssertionError

    assert LitellmEmbedder("scripted/m", 3, prepare=refuse).embed_passages([], timeout_s=30) == []


def test_preparation_runs_once_even_when_threads_start_together() -> None:
    prepared: list[int] = []
    start = threading.Barrier(4)
    register = scripted(echo)

    def prepare() -> None:
        prepared.append(1)
        register()

    shared = LitellmEmbedder("scripted/m", 3, prepare=prepare)
    results: list[list[float]] = []

    def work() -> None:
        start.wait()
        results.append(shared.embed_query("abc", timeout_s=30))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert prepared == [1]
    assert results == [vector(3)] * 4
