"""Every error that callers, logs and stored reports know, as one table.

A row is a class. It names its base, its ``code``, the HTTP ``status``, and whether the same call
may succeed later (``retryable``). What a row leaves out is its base's. The title of a problem
follows from its status (``web/problems.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypedDict, Unpack


class _Row(TypedDict, total=False):
    code: str
    status: int
    retryable: bool
    is_for_callers: bool


class ContextSearchError(Exception):
    """Base of the tree.

    ``code`` is stable and part of the contract, ``retry_after_s`` how long to wait when the failing
    part said so. Where ``is_for_callers`` is False, and for every status 500, the message is for
    the log alone. ``members`` are further members of the problem that callers get. Logs omit them.
    A message never holds document text, query text or a secret.
    """

    code: ClassVar[str] = "INTERNAL"
    status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False
    is_for_callers: ClassVar[bool] = True

    def __init_subclass__(cls, **row: Unpack[_Row]) -> None:
        for name, value in row.items():
            setattr(cls, name, value)

    def __init__(
        self,
        message: str = "",
        *,
        retry_after_s: float | None = None,
        members: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message or self.code)
        self.message = message or self.code
        self.retry_after_s = retry_after_s
        self.members = members or {}


# A table has no blank lines between its rows.
# fmt: off

# The request is wrong.
class InvalidInputError(ContextSearchError, code="INVALID_INPUT", status=422):
    """A value in the request breaks a rule; the message names the field and the rule."""
class InvalidPointerError(InvalidInputError, code="INVALID_POINTER"):
    """The text is not an RFC 6901 JSON pointer."""
class InvalidDocumentError(InvalidInputError, code="INVALID_DOCUMENT"):
    """The JSON document breaks a rule: depth, NUL, lone surrogate, number."""
class DocumentTooLargeError(InvalidDocumentError, code="DOCUMENT_TOO_LARGE", status=413):
    """A request, an upload or a document exceeds its limit of bytes."""
class QueryEmptyError(InvalidInputError, code="QUERY_EMPTY"):
    """The query has no letter and no number. Signs and emoji have no tokens."""
class FilterInvalidError(InvalidInputError, code="FILTER_INVALID"):
    """A filter breaks a rule, or names a field that is not filterable."""
class IndexSettingFixedError(InvalidInputError, code="INDEX_SETTING_FIXED"):
    """The request changes a setting that defines the tool's index: that needs another tool."""
class CursorInvalidError(InvalidInputError, code="CURSOR_INVALID"):
    """The cursor is malformed, is too old, or belongs to another question."""
class NotAStringError(InvalidInputError, code="NOT_A_STRING"):
    """The value at the pointer is no string."""
class IdempotencyKeyReusedError(InvalidInputError, code="IDEMPOTENCY_KEY_REUSED"):
    """The ``Idempotency-Key`` was sent before with another request."""
class PatternInvalidError(InvalidInputError, code="PATTERN_INVALID"):
    """Not a regular expression of RE2, or one that can match a part of a character."""
class PatternTooComplexError(PatternInvalidError, code="PATTERN_TOO_COMPLEX"):
    """The regular expression's program is too large, or it has too many groups."""
class PatternTooSlowError(InvalidInputError, code="PATTERN_TOO_SLOW"):
    """The search for the regular expression was ended at its deadline, too often to go on."""
class ReplacementInvalidError(InvalidInputError, code="REPLACEMENT_INVALID"):
    """A ``$`` in the replacement of a regular expression has no meaning, or two."""
class TooManyMatchesError(InvalidInputError, code="TOO_MANY_MATCHES"):
    """A search finds more than one plan can change, or leave alone."""
class PayloadTooLargeError(InvalidInputError, code="PAYLOAD_TOO_LARGE", status=413):
    """A body is longer than its route takes."""
class ReplaceTooLargeError(PayloadTooLargeError, code="REPLACE_TOO_LARGE"):
    """A replacement makes its strings longer than their limit."""
class UnsupportedMediaTypeError(InvalidInputError, code="UNSUPPORTED_MEDIA_TYPE", status=415):
    """The Content-Type of a body is not JSON."""

# Who calls, what they name, and its state.
class UnauthenticatedError(ContextSearchError, code="UNAUTHENTICATED", status=401):
    """Credentials are missing, unknown, expired or revoked."""
class PermissionDeniedError(ContextSearchError, code="PERMISSION_DENIED", status=403):
    """The key is good but lacks the scope that the operation needs."""
class NotFoundError(ContextSearchError, code="NOT_FOUND", status=404):
    """The id does not exist, or belongs to another project: the two look the same."""
class PreconditionFailedError(ContextSearchError, code="PRECONDITION_FAILED", status=412):
    """``If-Match`` names a version that can never exist. One that existed is a ConflictError."""
class ConflictError(ContextSearchError, code="CONFLICT", status=409):
    """The current state forbids the operation."""
class ProjectIndexOffError(ConflictError, code="PROJECT_INDEX_OFF"):
    """Project search has to be switched on first."""
class IdempotencyKeyInUseError(ConflictError, code="IDEMPOTENCY_KEY_IN_USE", retryable=True):
    """The request that came with this ``Idempotency-Key`` is still being executed."""
class TooManyUploadsError(ConflictError, code="TOO_MANY_UPLOADS", retryable=True):
    """The project has reached its limit of incomplete uploads."""
class UploadMissingError(ConflictError, code="UPLOAD_MISSING"):
    """The document of an upload is not in S3 (yet)."""
class VersionNotRecordedError(ConflictError, code="VERSION_NOT_RECORDED"):
    """The revision existed, but its content was not recorded."""
class TooManyLabelsError(ConflictError, code="TOO_MANY_LABELS"):
    """The table has reached its limit of labelled versions."""
class TooManyJudgedSetsError(ConflictError, code="TOO_MANY_JUDGED_SETS"):
    """The project has reached its limit of judged sets."""
class ProjectFullError(ConflictError, code="PROJECT_FULL"):
    """The project has reached a limit: members ``limit`` (its name), ``held``, ``most``."""
class PlanNotReadyError(ConflictError, code="PLAN_NOT_READY", retryable=True):
    """The preview of a plan is still going on."""
class PlanExpiredError(ConflictError, code="PLAN_EXPIRED"):
    """A plan was not executed in its time, or its preview failed or was cancelled."""
class PlanUsedError(ConflictError, code="PLAN_USED"):
    """A plan was executed before, with another choice; or it is an undo."""
class DigestMismatchError(ConflictError, code="DIGEST_MISMATCH"):
    """A plan shows something else than the digest stands for."""
class ReplaceStaleError(ConflictError, code="REPLACE_STALE"):
    """Strings of a plan differ from what it showed: members ``changed_count``, ``changed``."""
class UndoExpiredError(ConflictError, code="UNDO_EXPIRED"):
    """The plan is undone already (member ``undone_by``), or its texts are deleted."""

# Too much at once, or too much today.
class BackpressureError(ContextSearchError, code="SEARCH_BACKPRESSURE", status=429, retryable=True):
    """The project has reached its limit of searches in flight; see ``retry_after_s``."""
class TooManyIdempotencyKeysError(BackpressureError, code="TOO_MANY_IDEMPOTENCY_KEYS"):
    """The project has sent more idempotency keys in 24 hours than are kept."""
class ManagementBackpressureError(BackpressureError, code="MANAGEMENT_BACKPRESSURE"):
    """The project, or all projects, have reached the limit of expensive management requests."""
class ImportBusyError(BackpressureError, code="IMPORT_BUSY"):
    """Another worker imports the upload. Only the log of workers shows it."""
class SpendingCeilingError(BackpressureError, code="SPENDING_CEILING"):
    """The project has spent today's tokens, and the request would take more."""
class ReplaceBusyError(BackpressureError, code="REPLACE_BUSY"):
    """Another plan of the project is being executed, or too many previews are going on."""

# Something inside stops here; callers see an unexpected error.
class VersionDamagedError(ContextSearchError, code="VERSION_DAMAGED"):
    """The stored pieces of a version do not make the text whose hash was recorded."""
class LeaseLostError(ContextSearchError, code="LEASE_LOST"):
    """The node's fence moved on or the node is gone: stop without writing anything more."""
class AttemptsExhaustedError(ContextSearchError, code="ATTEMPTS_EXHAUSTED"):
    """Too many runs over a node ended, or were killed, without having written a single chunk."""

# A part outside does not answer.
class SearchUnavailableError(
    ContextSearchError, code="SEARCH_UNAVAILABLE", status=503, retryable=True
):
    """Neither turbopuffer nor Postgres could answer the question."""
class SearchTimeoutError(SearchUnavailableError, code="SEARCH_TIMEOUT"):
    """Neither of them could answer, and at least one ran out of time."""
class EmbeddingError(ContextSearchError, code="EMBEDDING_FAILED", status=503, retryable=True):
    """The embedding provider did not deliver usable vectors."""
class EmbeddingUnavailableError(EmbeddingError, code="EMBEDDING_UNAVAILABLE"):
    """The provider is away, throttles (429, see ``retry_after_s``), or refuses the key."""
class EmbeddingTimeoutError(EmbeddingUnavailableError, code="EMBEDDING_TIMEOUT"):
    """The provider did not answer within the deadline."""
class EmbeddingLimitError(EmbeddingError, code="EMBEDDING_LIMIT_REACHED", status=429):
    """The project has spent today's tokens for embedding; see ``retry_after_s``."""
class EmbeddingRejectedError(EmbeddingError, code="EMBEDDING_REJECTED", retryable=False):
    """The provider refuses the input; the same call will fail again."""
class EmbeddingDimensionMismatchError(
    EmbeddingError, code="EMBEDDING_DIMENSION_MISMATCH", retryable=False
):
    """Count, dimension or values of the reply are not what the model promises.

    ``found`` is the dimension of the reply's vectors where that is wrong.
    """
    found: int | None = None
class RerankError(ContextSearchError, code="RERANK_FAILED", status=503, retryable=True):
    """A reranking model did not deliver usable scores; its search goes on without them."""
class RerankUnavailableError(RerankError, code="RERANK_UNAVAILABLE"):
    """The provider is away, throttles, refuses the key, or its answer cannot be scores."""
class RerankTimeoutError(RerankUnavailableError, code="RERANK_TIMEOUT"):
    """The provider did not answer within the deadline."""
class RerankLimitError(RerankError, code="RERANK_LIMIT_REACHED", status=429):
    """The project has spent today's requests to a reranking model."""
class RerankRejectedError(RerankError, code="RERANK_REJECTED", retryable=False):
    """The provider refuses the input; the same call will fail again."""
class VectorStoreError(ContextSearchError, code="VECTOR_STORE_FAILED", status=503, retryable=True):
    """turbopuffer did not do what was asked."""
class VectorStoreUnavailableError(VectorStoreError, code="VECTOR_STORE_UNAVAILABLE"):
    """No definite answer: 401, 403, 429, 5xx or lost connection. It proves no absence."""
class VectorStoreTimeoutError(VectorStoreUnavailableError, code="VECTOR_STORE_TIMEOUT"):
    """turbopuffer did not answer within the deadline."""
class VectorStoreRejectedError(VectorStoreError, code="VECTOR_STORE_REJECTED", retryable=False):
    """A definite 4xx: the request is wrong and stays wrong."""
class NamespaceMissingError(VectorStoreError, code="NAMESPACE_MISSING", retryable=False):
    """The namespace does not exist (a definite 404)."""
class DatabaseUnavailableError(
    ContextSearchError, code="DATABASE_UNAVAILABLE", status=503, retryable=True
):
    """Postgres cannot be reached, or aborted the transaction for a passing reason."""
class KeywordTimeoutError(DatabaseUnavailableError, code="KEYWORD_TIMEOUT"):
    """The keyword search in Postgres did not end within the deadline."""
class CommitUnknownError(DatabaseUnavailableError, code="COMMIT_UNKNOWN", retryable=False):
    """The reply to COMMIT got lost: read the state again before anything is done twice."""
class QueueUnavailableError(
    ContextSearchError, code="QUEUE_UNAVAILABLE", status=503, retryable=True
):
    """SQS took none or only some of the messages; the outbox still holds the rest."""
class ObjectsUnavailableError(
    ContextSearchError, code="STORAGE_UNAVAILABLE", status=503, retryable=True
):
    """S3 cannot be reached, or refuses our credentials."""
class TokenIssuerUnavailableError(
    ContextSearchError, code="TOKEN_ISSUER_UNAVAILABLE", status=503, retryable=True
):
    """The issuer of JSON web tokens does not give its keys, so that no token can be judged."""
