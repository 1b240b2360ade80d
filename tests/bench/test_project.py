"""What a measurement waits for, and that it does not wait for ever."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import httpx2
import pytest

from bench._project import BenchError, Project

Scripted = tuple[int, dict[str, Any]]
LOADING: Scripted = (500, {"code": "INTERNAL"})
DEGRADED: Scripted = (200, {"retrieval": {"degraded": ["backend_unavailable"]}})
WHOLE: Scripted = (200, {"retrieval": {"degraded": []}})
STUCK: Scripted = (200, {"status": "stalled", "indexed_chunks_count": 3})


def project(answers: Iterable[Scripted]) -> Project:
    """A project whose API gives these answers, the last one again and again."""
    script: Iterator[Scripted] = iter(answers)
    last: list[Scripted] = []

    def answer(_request: httpx2.Request) -> httpx2.Response:
        last.append(next(script, last[-1] if last else LOADING))
        status, body = last[-1]
        return httpx2.Response(status, json=body)

    transport = httpx2.MockTransport(answer)
    return Project(httpx2.Client(base_url="http://stack", transport=transport), 1)


def test_an_index_is_waited_for_while_it_grows_and_through_failures() -> None:
    growing = project(
        [
            LOADING,
            (200, {"status": "indexing", "indexed_chunks_count": 3}),
            (200, {"status": "ready", "indexed_chunks_count": 9}),
        ]
    )
    assert growing.wait_until_ready("/index", at_least=9) == 9


def test_an_index_that_does_not_grow_is_given_up_with_its_state() -> None:
    with pytest.raises(BenchError, match=r"3 chunks and no more.*stalled"):
        project([STUCK]).wait_until_ready("/index", stuck_s=0)


def test_a_search_is_not_warm_while_it_fails_or_is_degraded() -> None:
    project([LOADING, DEGRADED, WHOLE]).wait_until_warm("/search", "q", pause_s=0)


@pytest.mark.parametrize("answer", [LOADING, DEGRADED])
def test_a_search_that_never_gets_warm_is_given_up(answer: Scripted) -> None:
    with pytest.raises(BenchError, match="not warm"):
        project([answer]).wait_until_warm("/search", "q", cold_s=0, pause_s=0)


def test_what_no_waiting_mends_is_an_error_at_once() -> None:
    with pytest.raises(httpx2.HTTPStatusError):
        project([(404, {"code": "NOT_FOUND"})]).wait_until_warm("/search", "q")
