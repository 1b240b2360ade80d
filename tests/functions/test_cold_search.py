"""The first hybrid search of a process, whose model is asked over OpenAI's route."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from context_search.composition.parts import parts
from tests.builders import english
from tests.functions.deployment import Deployment, end_process
from tests.functions.test_imports import after, request
from tests.runtime.built import WordServer
from tests.stack import DatabaseFactory

pytestmark = pytest.mark.stack
NOT_NEEDED = {"boto3", "litellm", "openai", "httpx", "tiktoken", "jwt", "pyfastcdc", "re2"}


@pytest.fixture
def over_http(
    databases: DatabaseFactory,
    postgres_url: str,
    turbopuffer_url: str,
    aws: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Deployment]:
    """The template's model, at a server of our own."""
    with databases.migrated() as url, WordServer().running() as model_url:
        database_url = urlsplit(postgres_url)._replace(path=f"/{url.database}").geturl()
        chosen = {"EmbeddingModel": "openai/text-embedding-3-small", "EmbeddingApiBase": model_url}
        made = Deployment.of(aws, database_url, turbopuffer_url, **chosen)
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        parts.cache_clear()
        yield made
        end_process()


def test_a_cold_hybrid_search_loads_no_more_than_it_needs(over_http: Deployment) -> None:
    tool = over_http.tool({"a": english(2_000)}, strategy="hybrid")
    over_http.drain()
    event: dict[str, Any] = request("POST", f"/api/v1/tools/{tool['tool_id']}/search")
    event["headers"] |= {"authorization": f"Bearer {tool['key']}"}
    event["body"] = json.dumps({"query": "harbour winter ledger"})
    answer, modules = after("search", event, **over_http.environment)
    found = json.loads(str(answer["body"]))
    assert (found["retrieval"]["legs"], found["retrieval"]["degraded"]) == (
        ["vector", "keyword"],
        [],
    )
    assert NOT_NEEDED & modules == set()
