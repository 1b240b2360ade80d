"""OpenAiEmbedder asks as litellm does; where it would not, litellm asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from context_search.integrations.models.litellm_embedder import LitellmEmbedder
from context_search.integrations.models.openai_embedder import OpenAiEmbedder, Route, may_be_asked
from tests.integrations.openai_server import OpenAiServer
from tests.integrations.scripted_embeddings import KEY, vector

TEXTS = ["a", "东京 ☂ \u2028 \x00", "c" * 9_000]
MODELS = [
    "openai/text-embedding-3-small",
    "openai/text-embedding-3-large",
    "openai/text-embedding-ada-002",
    "openai/BAAI/bge-m3",
    "openai/openai/text-embedding-3-small",
    "hosted_vllm/BAAI/bge-m3",
    "hosted_vllm/text-embedding-3-small",
    "litellm_proxy/my-model",
]
BASES = ["", "/", "/v1", "/v1/", "/a/b/v1", "/v1/embeddings"]
PARAMS: list[dict[str, object]] = [
    {},
    {"input_type": "query"},
    {"task": "retrieval.query", "truncate": "END", "prompt_name": "s"},
    {"user": "u", "encoding_format": "float"},
    {"extra_body": {"input_type": "query", "nested": {"a": [1, None]}}},
    {"extra_body": {"dimensions": 7}, "input_type": "x"},
    {"extra_body": {}},
]


@pytest.fixture
def server() -> Iterator[tuple[OpenAiServer, str]]:
    serving = OpenAiServer()
    with serving.running() as url:
        yield serving, url.removesuffix("/v1")


def both_asked(
    serving: OpenAiServer,
    model: str,
    base: str,
    params: Mapping[str, object],
    key: str | None = KEY,
) -> list[tuple[str, dict[str, Any], str]]:
    """Path, body and authorization of litellm's request, then of ours."""
    route = Route.of(model, base, has_key=key is not None)
    assert route is not None
    assert may_be_asked(params)
    more: dict[str, Any] = {"passage_params": params, "api_key": key}
    for asking in (
        LitellmEmbedder(model, 3, api_base=base, **more),
        OpenAiEmbedder(model, 3, route=route, **more),
    ):
        assert asking.embed_passages(TEXTS, timeout_s=30) == [vector(len(text)) for text in TEXTS]
    pairs = zip(serving.paths, serving.requests, strict=True)
    return [(path, body, authorization) for path, (body, authorization) in pairs]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("params", PARAMS, ids=lambda params: "-".join(params) or "nothing")
def test_litellm_and_we_send_the_same_request(
    server: tuple[OpenAiServer, str], model: str, params: dict[str, object]
) -> None:
    serving, url = server
    theirs, ours = both_asked(serving, model, f"{url}/v1", params)
    assert ours == theirs
    assert ours[2] == f"Bearer {KEY}"


@pytest.mark.parametrize("model", ["openai/m", "hosted_vllm/m", "litellm_proxy/m"])
@pytest.mark.parametrize("base", BASES)
def test_litellm_and_we_ask_at_the_same_address(
    server: tuple[OpenAiServer, str], model: str, base: str
) -> None:
    serving, url = server
    theirs, ours = both_asked(serving, model, f"{url}{base}", {})
    assert ours == theirs


def test_a_server_that_wants_no_key_gets_none(server: tuple[OpenAiServer, str]) -> None:
    serving, url = server
    theirs, ours = both_asked(serving, "hosted_vllm/m", url, {}, key=None)
    assert ours == theirs
    assert ours[2] is None


@pytest.mark.parametrize(
    ("model", "api_base", "has_key"),
    [
        ("openai/m", "http://h/v1", False),  # litellm looks for a key elsewhere
        ("litellm_proxy/m", "http://h/v1", False),
        ("text-embedding-3-small", "http://h/v1", True),  # whose it is depends on the address
        ("hosted_vllm/m", None, True),
        ("litellm_proxy/m", None, True),
        ("voyage/m", "http://h/v1", True),
        ("azure/m", "http://h/v1", True),
        ("together_ai/m", "http://h/v1", True),
        ("local/m", None, True),
        ("bge-m3", "http://h/v1", True),
        ("openai/", None, True),
        ("openai", None, True),
    ],
)
def test_what_depends_on_more_than_the_settings_is_left_to_litellm(
    model: str, api_base: str | None, *, has_key: bool
) -> None:
    assert Route.of(model, api_base, has_key=has_key) is None


@pytest.mark.parametrize(
    "params",
    [
        {"encoding_format": "base64"},
        {"extra_headers": {"a": "b"}},
        {"extra_body": "text"},
        {"extra_body": {"model": "other"}},
        {"extra_body": {"input_type": "x"}, "input_type": "y"},
        {"dimensions": 5},
        {"api_version": "1"},
        {"timeout": 1},
        {"input_type": None},
        {"drop_params": False},
        {"allowed_openai_params": ["dimensions"]},
    ],
    ids="-".join,
)
def test_parameters_that_mean_something_to_litellm_are_left_to_it(
    params: dict[str, object],
) -> None:
    assert not may_be_asked(params)


@pytest.mark.parametrize("name", ["text-embedding-3-small", "text-embedding-ada-002"])
def test_openais_own_models_are_asked_at_openai_by_either_name(name: str) -> None:
    route = Route.of(name, None, has_key=True)
    assert route == Route.of(f"openai/{name}", None, has_key=True)
    assert route == Route(
        "https://api.openai.com/v1/embeddings", name, takes_dimensions="3" in name
    )
