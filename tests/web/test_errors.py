"""Every error of the tree on the wire: one table, nothing forgotten, nothing given away."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from context_search.core import errors
from context_search.core.errors import ContextSearchError
from context_search.postgres.errors import PostgresUnavailableError, StatementRejectedError
from context_search.settings import SettingsError
from context_search.web.problems import http_status, log_text, problem, problem_of
from local.options import ROOT

STATUS = {
    errors.InvalidInputError: 422,
    errors.PayloadTooLargeError: 413,
    errors.InvalidPointerError: 422,
    errors.InvalidDocumentError: 422,
    errors.FilterInvalidError: 422,
    errors.QueryEmptyError: 422,
    errors.IndexSettingFixedError: 422,
    errors.NotAStringError: 422,
    errors.CursorInvalidError: 422,
    errors.UnauthenticatedError: 401,
    errors.PermissionDeniedError: 403,
    errors.NotFoundError: 404,
    errors.ConflictError: 409,
    errors.PreconditionFailedError: 412,
    errors.ProjectIndexOffError: 409,
    errors.LeaseLostError: 500,
    errors.AttemptsExhaustedError: 500,
    errors.EmbeddingError: 503,
    errors.EmbeddingUnavailableError: 503,
    errors.EmbeddingTimeoutError: 503,
    errors.EmbeddingLimitError: 429,
    errors.EmbeddingRejectedError: 503,
    errors.EmbeddingDimensionMismatchError: 503,
    errors.RerankError: 503,
    errors.RerankUnavailableError: 503,
    errors.RerankTimeoutError: 503,
    errors.RerankLimitError: 429,
    errors.RerankRejectedError: 503,
    errors.VectorStoreError: 503,
    errors.VectorStoreUnavailableError: 503,
    errors.VectorStoreTimeoutError: 503,
    errors.VectorStoreRejectedError: 503,
    errors.NamespaceMissingError: 503,
    errors.DatabaseUnavailableError: 503,
    errors.CommitUnknownError: 503,
    errors.QueueUnavailableError: 503,
    errors.KeywordTimeoutError: 503,
    errors.BackpressureError: 429,
    errors.TooManyIdempotencyKeysError: 429,
    errors.IdempotencyKeyInUseError: 409,
    errors.IdempotencyKeyReusedError: 422,
    errors.DocumentTooLargeError: 413,
    errors.UnsupportedMediaTypeError: 415,
    errors.UploadMissingError: 409,
    errors.VersionNotRecordedError: 409,
    errors.TooManyLabelsError: 409,
    errors.TooManyJudgedSetsError: 409,
    errors.ProjectFullError: 409,
    errors.VersionDamagedError: 500,
    errors.TooManyUploadsError: 409,
    errors.ObjectsUnavailableError: 503,
    errors.TokenIssuerUnavailableError: 503,
    errors.SearchUnavailableError: 503,
    errors.SearchTimeoutError: 503,
    errors.PatternInvalidError: 422,
    errors.PatternTooComplexError: 422,
    errors.PatternTooSlowError: 422,
    errors.ReplacementInvalidError: 422,
    errors.TooManyMatchesError: 422,
    errors.ReplaceTooLargeError: 413,
    errors.PlanNotReadyError: 409,
    errors.PlanExpiredError: 409,
    errors.PlanUsedError: 409,
    errors.DigestMismatchError: 409,
    errors.ReplaceStaleError: 409,
    errors.UndoExpiredError: 409,
    errors.ReplaceBusyError: 429,
    errors.ManagementBackpressureError: 429,
    errors.SpendingCeilingError: 429,
    errors.ImportBusyError: 429,
}


def descendants(kind: type[ContextSearchError]) -> Iterator[type[ContextSearchError]]:
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            yield child
            yield from descendants(child)


def test_the_table_names_every_error_of_the_domain() -> None:
    assert set(STATUS) == set(descendants(ContextSearchError))


def test_the_page_about_the_api_names_every_code_with_its_status() -> None:
    page = (ROOT / "docs/api.md").read_text("utf-8")
    for kind, status in STATUS.items():
        assert re.search(rf"^\|[^|]*`{kind.code}`[^|]*\| {status} \|", page, re.MULTILINE), kind


@pytest.mark.parametrize(("kind", "status"), STATUS.items(), ids=str)
def test_an_error_has_its_status_and_its_code(kind: type[ContextSearchError], status: int) -> None:
    sent, body, headers = problem_of(kind("in words"))
    assert sent == body["status"] == http_status(kind()) == status
    assert (body["code"], body["retryable"]) == (kind.code, kind.retryable)
    assert body["type"] == "about:blank"
    assert body["title"] not in ("", "Error")
    assert ("WWW-Authenticate" in headers) == (status == 401)
    if status < 500:
        assert body["detail"] == "in words"


def test_codes_are_unique() -> None:
    codes = [kind.code for kind in STATUS]
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
