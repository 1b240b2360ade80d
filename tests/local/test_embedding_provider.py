"""The local model as litellm's provider, at both speeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from context_search.core.errors import EmbeddingRejectedError
from context_search.integrations.models.litellm_embedder import LitellmEmbedder, import_litellm
from local.embedding import DIMENSIONS, MODEL, PASSAGE_PARAMS, QUERY_PARAMS, register
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
