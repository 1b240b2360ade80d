"""Which client asks which model, by the settings alone."""

from __future__ import annotations

import pytest

from context_search.composition.models import embedder, reranker
from context_search.core.config import IndexConfig
from context_search.integrations.live_settings import LiveSettings
from context_search.integrations.models.litellm_embedder import LitellmEmbedder
from context_search.integrations.models.openai_embedder import OpenAiEmbedder
from context_search.integrations.ports import Billed
from context_search.settings import Settings
from tests.functions.test_imports import ENVIRONMENT
from tests.integrations.openai_server import OpenAiServer
from tests.integrations.rerank_server import RerankServer
from tests.integrations.scripted_embeddings import KEY, vector


def live(**variables: str) -> LiveSettings:
    given = {**ENVIRONMENT, "EMBEDDING_API_KEY": KEY, "RERANK_API_KEY": KEY, **variables}
    return LiveSettings(Settings.from_environ(given))


@pytest.mark.parametrize(
    ("model", "variables", "client"),
    [
        ("openai/text-embedding-3-small", {}, OpenAiEmbedder),
        ("text-embedding-3-small", {}, OpenAiEmbedder),
        ("hosted_vllm/m", {"EMBEDDING_API_BASE": "http://127.0.0.1:9"}, OpenAiEmbedder),
        ("openai/m", {"EMBEDDING_QUERY_PARAMS": '{"input_type": "query"}'}, OpenAiEmbedder),
        ("openai/m", {"EMBEDDING_QUERY_PARAMS": '{"api_version": "1"}'}, LitellmEmbedder),
        ("openai/m", {"EMBEDDING_PASSAGE_PARAMS": '{"dimensions": 5}'}, LitellmEmbedder),
        ("openai/m", {"EMBEDDING_API_KEY": ""}, LitellmEmbedder),
        ("voyage/voyage-3", {}, LitellmEmbedder),
        ("hosted_vllm/m", {}, LitellmEmbedder),
    ],
)
def test_the_settings_say_whether_litellm_is_needed(
    model: str, variables: dict[str, str], client: type
) -> None:
    made = embedder(IndexConfig(model, 3), live(**variables), lambda _: None)
    assert type(made) is client
    assert (made.model, made.dimensions) == (model, 3)


def test_a_model_is_asked_as_the_settings_say() -> None:
    server, reported = OpenAiServer(), list[Billed]()
    with server.running() as url:
        params = {
            "EMBEDDING_QUERY_PARAMS": '{"input_type": "query"}',
            "EMBEDDING_PASSAGE_PARAMS": '{"input_type": "passage"}',
        }
        asking = live(EMBEDDING_API_BASE=url, **params)
        made = embedder(IndexConfig("openai/m", 3), asking, reported.append)
        assert made.embed_query("a", timeout_s=30) == vector(1)
        assert made.embed_passages(["bb"], timeout_s=30) == [vector(2)]
    kinds = [body["input_type"] for body, _ in server.requests]
    assert kinds == ["query", "passage"]
    assert {key for _, key in server.requests} == {f"Bearer {KEY}"}
    assert reported == [Billed(tokens=1), Billed(tokens=2)]
    assert made.query_key != made.passage_key != ""


def test_a_reranking_model_is_asked_as_the_settings_say() -> None:
    server, reported = RerankServer(), list[Billed]()
    with server.running() as url:
        made = reranker("cohere/rerank-v3.5", live(RERANK_API_BASE=url), reported.append)
        scores = made.scores("comets", ["harbour", "comets"], timeout_s=30)
    assert scores == {0: 0.0, 1: 1.0}
    assert [key for _, key in server.requests] == [f"Bearer {KEY}"]
    assert [billed.reranks for billed in reported] == [1]
