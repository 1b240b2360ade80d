"""The shipped model behind OpenAI's route: the same vectors as in the process itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from starlette.testclient import TestClient

from local.embedding import DIMENSIONS
from local.embedding.provider import shared_encoder
from local.embedding.server import create_app

TEXTS = ["the tide gauge at Esbjerg", "潮位计"]


@pytest.fixture(scope="module")
def server() -> Iterator[TestClient]:
    with TestClient(create_app(), base_url="http://127.0.0.1") as client:
        yield client


def ask(server: TestClient, **body: object) -> list[list[float]]:
    reply = server.post("/v1/embeddings", json={"model": "use-multilingual-v3", **body})
    assert reply.status_code == 200
    assert [each["index"] for each in reply.json()["data"]] == list(
        range(len(reply.json()["data"]))
    )
    return [each["embedding"] for each in reply.json()["data"]]


def test_texts_are_passages_unless_it_is_said_that_they_are_queries(server: TestClient) -> None:
    passages = shared_encoder().encode_passages(TEXTS)
    queries = shared_encoder().encode_queries(TEXTS)
    assert not np.allclose(passages, queries)
    assert np.allclose(ask(server, input=TEXTS), passages)
    assert np.allclose(ask(server, input=TEXTS, input_type="passage"), passages)
    assert np.allclose(ask(server, input=TEXTS, input_type="query"), queries)


def test_one_text_may_come_without_a_list(server: TestClient) -> None:
    [vector] = ask(server, input=TEXTS[0])
    assert len(vector) == DIMENSIONS


def test_another_kind_of_text_is_refused(server: TestClient) -> None:
    body = {"model": "m", "input": TEXTS, "input_type": "classification"}
    reply = server.post("/v1/embeddings", json=body)
    assert reply.status_code == 400
    assert reply.json()["error"]["message"] == "input_type must be query or passage"


def test_it_says_when_it_serves_and_serves_no_page(server: TestClient) -> None:
    assert server.get("/health").status_code == 200
    assert server.get("/health", headers={"origin": "https://page.example"}).status_code == 403
