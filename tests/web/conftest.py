"""The whole HTTP API in this process: real PostgreSQL, the real turbopuffer server, no network."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import httpx2
import pytest
from fastapi import FastAPI

from context_search.postgres.pool import Database
from context_search.web.app import http_app
from context_search.web.openapi import contract, every_router
from tests.web.api import CANARY, Api, LocalParts, exposed
from tests.web.in_process import client_of


@pytest.fixture(scope="module")
def parts(application_database: Database, turbopuffer_url: str) -> LocalParts:
    """With the rights that deployed functions have: row-level security holds in every test."""
    return LocalParts(application_database, turbopuffer_url)


@pytest.fixture(scope="module")
def app(parts: LocalParts) -> FastAPI:
    return http_app(every_router(), parts.use_cases, contract=contract)


@pytest.fixture(scope="module")
def http(app: FastAPI) -> Iterator[httpx2.Client]:
    """One client for the tests of a file; it keeps no cookies and no credentials."""
    with client_of(app) as client:
        yield client


@pytest.fixture
def api(http: httpx2.Client, parts: LocalParts) -> Api:
    """A client of a project of its own."""
    return Api.of_new_project(http, parts)


@pytest.fixture(scope="module")
def reader(http: httpx2.Client, parts: LocalParts) -> Api:
    """A client of a project that the tests of a file share, as they change nothing in it."""
    return Api.of_new_project(http, parts)


@pytest.fixture(autouse=True)
def _nothing_secret_is_logged_or_printed(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> Iterator[None]:
    """No key, secret, question or document text leaves through a log, in any test here."""
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.DEBUG, logger="context_search")
    yield
    printed = capsys.readouterr()
    records = [record for when in ("setup", "call") for record in caplog.get_records(when)]
    reported = exposed(records) + printed.out + printed.err
    assert CANARY not in reported
    assert "cs_" not in reported  # how every key begins
