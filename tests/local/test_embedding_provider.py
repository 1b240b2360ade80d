"""The local model as litellm's provider, healthy and with every fault turned on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from context_search.adapters.litellm_embedder import LitellmEmbedder, import_litellm
from context_search.domain.errors import (
    EmbeddingDimensionMismatchError,
    EmbeddingError,
    EmbeddingRejectedError,
    EmbeddingTimeoutError,
    EmbeddingUnavailableError,
)
from local.embedding import DIMENSIONS, MODEL, PASSAGE_PARAMS, QUERY_PARAMS, register
from local.embedding.faults import Fault, FaultSwitch
from local.embedding.provider import shared_encoder

TEXTS = ["a loaf of bread", "一条铁路", "three"]


def local_embedder(model: str = MODEL, **more: Any) -> LitellmEmbedder:
    params: dict[str, Any] = {"query_params": QUERY_PARAMS, "passage_params": PASSAGE_PARAMS}
    return LitellmEmbedder(model, DIMENSIONS, **(params | {"prepare": register} | more))


def test_litellm_serves_the_shared_encoders_vectors_at_both_speeds() -> None:
    embedder = local_embedder(batch_size=2)
    passages = embedder.embed_passages(TEXTS, timeout_s=60)
    assert np.allclose(passages, shared_encoder().encode_passages(TEXTS), atol=1e-5)
    query = embedder.embed_query(TEXTS[1], timeout_s=60)
    assert query == pytest.approx(shared_encoder().encode_queries([TEXTS[1]])[0], abs=1e-5)


def test_litellm_called_by_hand_with_one_string_embeds_that_string() -> None:
    register()
    reply = import_litellm().embedding(model=MODEL, input="bread", input_type="passage")
    assert len(reply.data) == 1
    assert np.allclose(reply.data[0]["embedding"], shared_encoder().encode_passages(["bread"]))


def test_a_model_that_is_not_here_is_rejected() -> None:
    with pytest.raises(EmbeddingRejectedError, match="404"):
        local_embedder("local/other").embed_query("a", timeout_s=60)


def test_a_call_without_input_type_is_rejected() -> None:
    with pytest.raises(EmbeddingRejectedError, match="400"):
        local_embedder(passage_params={}).embed_passages(["a"], timeout_s=60)


@pytest.fixture
def switch(tmp_path: Path) -> FaultSwitch:
    return FaultSwitch(tmp_path / "embedding-fault.json")


def faulty(switch: FaultSwitch) -> LitellmEmbedder:
    return local_embedder(prepare=lambda: register(switch))


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault("slow", seconds=3600), EmbeddingTimeoutError),
        (Fault("throttled", seconds=2), EmbeddingUnavailableError),
        (Fault("unavailable"), EmbeddingUnavailableError),
        (Fault("rejected"), EmbeddingRejectedError),
        (Fault("short"), EmbeddingDimensionMismatchError),
        (Fault("wrong_dimension"), EmbeddingDimensionMismatchError),
        (Fault("not_finite"), EmbeddingDimensionMismatchError),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
def test_a_fault_reaches_the_caller_as_a_real_providers_would_and_goes_when_turned_off(
    switch: FaultSwitch, fault: Fault, expected: type[EmbeddingError]
) -> None:
    embedder = faulty(switch)
    switch.turn_on(fault)
    with pytest.raises(expected) as caught:
        embedder.embed_passages(TEXTS, timeout_s=0.2 if fault.kind == "slow" else 60)
    assert type(caught.value) is expected
    assert caught.value.retry_after_s == (2.0 if fault.kind == "throttled" else None)
    switch.turn_off()
    assert len(embedder.embed_passages(TEXTS, timeout_s=60)) == len(TEXTS)


@pytest.mark.parametrize("fault", [Fault("slow", seconds=0.01), Fault("reordered")])
def test_a_late_or_reordered_reply_is_still_the_right_one(
    switch: FaultSwitch, fault: Fault
) -> None:
    embedder = faulty(switch)
    healthy = embedder.embed_passages(TEXTS, timeout_s=60)
    switch.turn_on(fault)
    assert embedder.embed_passages(TEXTS, timeout_s=60) == healthy
