"""A provider of opinions that says nothing costs a search its time, and no more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from context_search.postgres.pool import Database
from tests.integrations.rerank_server import RerankServer
from tests.web.api import SMALL, Api
from tests.web.test_rerank import ASKED, DOCUMENT, MODEL, RerankingParts


@pytest.fixture(scope="module")
def parts(application_database: Database, turbopuffer_url: str) -> Iterator[RerankingParts]:
    server = RerankServer()
    server.answering.clear()
    with server.running() as url:
        yield RerankingParts(application_database, turbopuffer_url, url, 50)


def test_the_order_stays_when_the_provider_is_silent(api: Api, parts: RerankingParts) -> None:
    table = api.table(DOCUMENT)
    plain, tool = (
        api.tool(table, {**SMALL, "rerank": rerank}) for rerank in (None, {"model": MODEL})
    )
    expected = api.search(plain, ASKED)
    found = api.search(tool, ASKED)
    assert found["results"] == expected["results"]
    assert found["retrieval"] == {**expected["retrieval"], "degraded": ["rerank_timeout"]}
