"""Every error of the table on the wire: as docs/api.md says it, nothing given away."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from context_search.core import errors
from context_search.core.errors import ContextSearchError
from context_search.postgres.errors import PostgresUnavailableError, StatementRejectedError
from context_search.settings import SettingsError
from context_search.web.problems import log_text, problem, problem_of
from local.options import ROOT


def descendants(kind: type[ContextSearchError]) -> Iterator[type[ContextSearchError]]:
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            yield child
            yield from descendants(child)


KINDS = [*descendants(ContextSearchError)]


def test_the_page_about_the_api_has_the_row_of_every_error() -> None:
    page = (ROOT / "docs/api.md").read_text("utf-8")
    for kind in KINDS:
        rest = rf"[^|]*\| {kind.status} \| {'yes' if kind.retryable else 'no'} \|"
        assert re.search(rf"^\|[^|]*`{kind.code}`{rest}", page, re.MULTILINE), kind


@pytest.mark.parametrize("kind", KINDS)
def test_a_problem_has_the_status_and_the_code_of_its_error(kind: type[ContextSearchError]) -> None:
    status, body, headers = problem_of(kind("in words"))
    assert status == body["status"] == kind.status
    assert (body["code"], body["retryable"]) == (kind.code, kind.retryable)
    assert body["type"] == "about:blank"
    assert body["title"] not in ("", "Error")
    assert ("WWW-Authenticate" in headers) == (status == 401)
    if status < 500:
        assert body["detail"] == "in words"


def test_codes_are_unique() -> None:
    codes = [kind.code for kind in KINDS]
    assert len(set(codes)) == len(codes)


def test_a_known_wait_is_told_twice_and_never_as_zero() -> None:
    error = errors.EmbeddingUnavailableError("busy", retry_after_s=0.2)
    _, body, headers = problem_of(error)
    assert body["retryAfterMs"] == 200
    assert headers["Retry-After"] == "1"
    body, headers = problem(429, "SEARCH_BACKPRESSURE", "full", retry_after_s=1.2)
    assert (body["retryAfterMs"], headers["Retry-After"]) == (1200, "2")


def test_an_unknown_wait_is_not_made_up() -> None:
    _, body, headers = problem_of(errors.VectorStoreUnavailableError("down"))
    assert "retryAfterMs" not in body
    assert headers == {}


@pytest.mark.parametrize(
    "error",
    [
        StatementRejectedError("SQLSTATE 42601, line 1 at 'SELEC'", sqlstate="42601"),
        SettingsError("DATABASE_URL is not set"),
        ContextSearchError("something inside"),
        errors.LeaseLostError("fence 7"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_went_wrong_inside_is_for_the_log_only(error: ContextSearchError) -> None:
    status, body, _ = problem_of(error)
    assert status == 500
    assert error.message not in str(body)


def test_what_the_database_says_of_its_outage_is_for_the_log_only() -> None:
    error = PostgresUnavailableError(
        "no TLS connection: certificate not trusted, SQLSTATE 28P01", sqlstate="28P01"
    )
    status, body, _ = problem_of(error)
    assert (status, body["code"], body["retryable"]) == (503, "DATABASE_UNAVAILABLE", True)
    assert body["detail"] == "the database does not answer, try again"


def test_causes_that_go_in_a_circle_are_told_once() -> None:
    first, second = ContextSearchError("first"), ContextSearchError("second")
    first.__cause__, second.__cause__ = second, first
    assert log_text(first).count("first") == 1
