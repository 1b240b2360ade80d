"""A key of turbopuffer that is rotated while its client lives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from context_search.core.errors import VectorStoreRejectedError, VectorStoreUnavailableError
from context_search.integrations.turbopuffer import TurbopufferVectors
from tests.integrations.json_server import JsonHandler, serving

OLD, NEW = "tpuf_old", "tpuf_new"


class KeyedServer:
    """turbopuffer's list of namespaces for one key, and ``refusal`` for every other."""

    def __init__(self, refusal: int) -> None:
        self.refusal = refusal
        self.keys: list[str] = []

    @contextmanager
    def running(self) -> Iterator[str]:
        outer = self

        class Handler(JsonHandler):
            def answer(self, body: bytes) -> None:  # noqa: ARG002 - whatever is asked
                key = self.headers["authorization"].removeprefix("Bearer ")
                outer.keys.append(key)
                found = {"namespaces": [{"id": "project_1"}], "next_cursor": None}
                raw = json.dumps(found if key == NEW else {"status": "error"}).encode()
                self.give(200 if key == NEW else outer.refusal, raw)

        with serving(Handler) as url:
            yield url


@pytest.mark.parametrize("refusal", [401, 403])
def test_the_new_key_is_used_for_the_refused_request_and_from_then_on(refusal: int) -> None:
    asked: list[str] = []

    def instead_of(refused: str) -> str:
        asked.append(refused)
        return NEW

    server = KeyedServer(refusal)
    with server.running() as url:
        vectors = TurbopufferVectors(api_key=OLD, base_url=url, instead_of=instead_of)
        for _ in range(2):
            assert vectors.namespaces_after("project_", "", 10) == ["project_1"]
    assert asked == [OLD]
    assert server.keys == [OLD, NEW, NEW]


@pytest.mark.parametrize(
    ("refusal", "expected"), [(401, VectorStoreUnavailableError), (403, VectorStoreRejectedError)]
)
def test_a_key_that_nothing_has_replaced_is_asked_for_at_every_refusal(
    refusal: int, expected: type[Exception]
) -> None:
    known = iter([None, NEW])
    server = KeyedServer(refusal)
    with server.running() as url:
        vectors = TurbopufferVectors(api_key=OLD, base_url=url, instead_of=lambda _: next(known))
        with pytest.raises(expected, match=str(refusal)):
            vectors.namespaces_after("project_", "", 10)
        assert vectors.namespaces_after("project_", "", 10) == ["project_1"]
    assert server.keys == [OLD, OLD, NEW]


@pytest.mark.parametrize("refusal", [401, 403])
def test_work_that_is_refused_for_its_key_may_be_tried_again(refusal: int) -> None:
    with KeyedServer(refusal).running() as url:
        vectors = TurbopufferVectors(api_key=OLD, base_url=url)
        with pytest.raises(VectorStoreUnavailableError, match=str(refusal)):
            vectors.delete("project_1_table_1_i1_g1", ["1"])
