"""Every error this package raises on purpose, as one tree; ``web/problems.py`` maps it once.

ContextSearchError
├── InvalidInputError           the caller can mend it (4xx)
│   ├── InvalidPointerError
│   ├── InvalidDocumentError
│   │   └── DocumentTooLargeError
│   ├── QueryEmptyError
│   ├── FilterInvalidError
│   ├── IndexSettingFixedError
│   ├── CursorInvalidError
│   ├── NotAStringError
│   ├── IdempotencyKeyReusedError
│   ├── PayloadTooLargeError
│   │   └── ReplaceTooLargeError
│   ├── PatternInvalidError
│   │   └── PatternTooComplexError
│   ├── PatternTooSlowError
│   ├── ReplacementInvalidError
│   ├── TooManyMatchesError
│   └── UnsupportedMediaTypeError
├── UnauthenticatedError        no or bad credentials
├── PermissionDeniedError       good credentials without the scope
├── NotFoundError               missing, or not yours: the two look the same
├── PreconditionFailedError     the request names a version that nothing ever has
├── ConflictError               the state of the thing forbids it now
│   ├── ProjectIndexOffError
│   ├── IdempotencyKeyInUseError          retryable
│   ├── TooManyUploadsError               retryable
│   ├── UploadMissingError
│   ├── VersionNotRecordedError
│   ├── TooManyLabelsError
│   ├── TooManyJudgedSetsError
│   ├── ProjectFullError
│   ├── PlanNotReadyError                 retryable
│   ├── PlanExpiredError
│   ├── PlanUsedError
│   ├── DigestMismatchError
│   ├── ReplaceStaleError                 with what has changed
│   └── UndoExpiredError
├── BackpressureError           retryable: too much at once
│   ├── TooManyIdempotencyKeysError
│   ├── SpendingCeilingError              until the next day
│   ├── ManagementBackpressureError
│   └── ReplaceBusyError
├── SearchUnavailableError      retryable: no part could answer
│   └── SearchTimeoutError      in time
├── LeaseLostError              another worker owns the node, this one must stop
├── VersionDamagedError         the pieces of a version are not what was recorded
├── AttemptsExhaustedError      a node was tried too often without any progress
├── EmbeddingError
│   ├── EmbeddingUnavailableError         retryable
│   ├── EmbeddingTimeoutError             retryable
│   ├── EmbeddingLimitError               the project spent what it may today; retryable
│   ├── EmbeddingRejectedError            the provider refuses this input
│   └── EmbeddingDimensionMismatchError   the reply is not what the model promises
├── RerankError                 no opinion of a reranking model; its search goes on without
│   ├── RerankUnavailableError            retryable
│   │   └── RerankTimeoutError            retryable
│   ├── RerankLimitError                  the project spent what it may today; retryable
│   └── RerankRejectedError               the provider refuses this input
├── VectorStoreError
│   ├── VectorStoreUnavailableError       retryable
│   │   └── VectorStoreTimeoutError       retryable
│   ├── VectorStoreRejectedError
│   └── NamespaceMissingError
├── DatabaseUnavailableError    retryable
│   ├── KeywordTimeoutError     retryable
│   └── CommitUnknownError      not retryable before a look at the state
├── QueueUnavailableError       retryable
├── ObjectsUnavailableError     retryable
└── TokenIssuerUnavailableError retryable
"""

from __future__ import annotations

from collections.abc import Mapping


class ContextSearchError(Exception):
    """Base of the tree.

    ``code`` is stable and part of the contract, ``retryable`` says whether the same call may
    succeed later, ``retry_after_s`` how long to wait when the failing part said so.
    ``is_for_callers`` is False where the message is for the log alone. ``members`` are further
    members of the problem that callers get, and never logged.
    The message must never hold document text, query text or a secret.
    """

    code = "INTERNAL"
    retryable = False
    is_for_callers = True

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


class InvalidInputError(ContextSearchError):
    """A value in the request breaks a rule; ``message`` names the field and the rule."""

    code = "INVALID_INPUT"


class InvalidPointerError(InvalidInputError):
    """The text is not an RFC 6901 JSON pointer."""

    code = "INVALID_POINTER"


class InvalidDocumentError(InvalidInputError):
    """The JSON document breaks a border rule: depth, NUL, lone surrogate, number."""

    code = "INVALID_DOCUMENT"


class DocumentTooLargeError(InvalidDocumentError):
    """A request, an upload or a document has more bytes than it may."""

    code = "DOCUMENT_TOO_LARGE"


class QueryEmptyError(InvalidInputError):
    """The query has no letter and no number. Signs and emoji have no tokens."""

    code = "QUERY_EMPTY"


class FilterInvalidError(InvalidInputError):
    """A filter breaks a rule, or names a field that may not be filtered by."""

    code = "FILTER_INVALID"


class IndexSettingFixedError(InvalidInputError):
    """A setting that makes the index of a tool was to be changed: that is another tool."""

    code = "INDEX_SETTING_FIXED"


class CursorInvalidError(InvalidInputError):
    """The cursor is malformed, is too old, or belongs to another question."""

    code = "CURSOR_INVALID"


class NotAStringError(InvalidInputError):
    """The value at the pointer is no string."""

    code = "NOT_A_STRING"


class IdempotencyKeyReusedError(InvalidInputError):
    """The ``Idempotency-Key`` was sent before with another request."""

    code = "IDEMPOTENCY_KEY_REUSED"


class UnauthenticatedError(ContextSearchError):
    """Credentials are missing, unknown, expired or revoked."""

    code = "UNAUTHENTICATED"


class PermissionDeniedError(ContextSearchError):
    """The key is good but lacks the scope that the operation needs."""

    code = "PERMISSION_DENIED"


class NotFoundError(ContextSearchError):
    """The id does not exist, or belongs to somebody else."""

    code = "NOT_FOUND"


class PreconditionFailedError(ContextSearchError):
    """``If-Match`` names a version that can never exist. One that existed is a ConflictError."""

    code = "PRECONDITION_FAILED"


class ConflictError(ContextSearchError):
    """The current state forbids the operation."""

    code = "CONFLICT"


class ProjectIndexOffError(ConflictError):
    """Project search has to be switched on first."""

    code = "PROJECT_INDEX_OFF"


class IdempotencyKeyInUseError(ConflictError):
    """The request that came with this ``Idempotency-Key`` is still being executed."""

    code = "IDEMPOTENCY_KEY_IN_USE"
    retryable = True


class TooManyUploadsError(ConflictError):
    """The project has as many uploads that nobody completed as it may."""

    code = "TOO_MANY_UPLOADS"
    retryable = True


class UploadMissingError(ConflictError):
    """The document of an upload is not in S3 (yet)."""

    code = "UPLOAD_MISSING"


class VersionNotRecordedError(ConflictError):
    """The revision was there, and its content is not."""

    code = "VERSION_NOT_RECORDED"


class TooManyLabelsError(ConflictError):
    """The table has as many labelled versions as it may."""

    code = "TOO_MANY_LABELS"


class TooManyJudgedSetsError(ConflictError):
    """The project has as many judged sets as it may."""

    code = "TOO_MANY_JUDGED_SETS"


class ProjectFullError(ConflictError):
    """The project holds as many tables, tools, keys, ... or bytes of documents as it may."""

    code = "PROJECT_FULL"


class PlanNotReadyError(ConflictError):
    """The preview of a plan is still going on."""

    code = "PLAN_NOT_READY"
    retryable = True


class PlanExpiredError(ConflictError):
    """A plan was not executed in its time, or its preview failed or was cancelled."""

    code = "PLAN_EXPIRED"


class PlanUsedError(ConflictError):
    """A plan was executed before, with another choice; or it is an undo."""

    code = "PLAN_USED"


class DigestMismatchError(ConflictError):
    """A plan shows something else than the digest stands for."""

    code = "DIGEST_MISMATCH"


class ReplaceStaleError(ConflictError):
    """Strings of a plan are not as they were shown."""

    code = "REPLACE_STALE"


class UndoExpiredError(ConflictError):
    """What was executed is undone already, or its texts are forgotten."""

    code = "UNDO_EXPIRED"


class VersionDamagedError(ContextSearchError):
    """The stored pieces of a version do not make the text whose hash was recorded."""

    code = "VERSION_DAMAGED"


class BackpressureError(ContextSearchError):
    """The project has as many searches in flight as it may; try again after ``retry_after_s``."""

    code = "SEARCH_BACKPRESSURE"
    retryable = True


class TooManyIdempotencyKeysError(BackpressureError):
    """The project has sent more idempotency keys in 24 hours than are kept."""

    code = "TOO_MANY_IDEMPOTENCY_KEYS"


class ManagementBackpressureError(BackpressureError):
    """The project, or all projects, have as many expensive management requests as they may."""

    code = "MANAGEMENT_BACKPRESSURE"


class ImportBusyError(BackpressureError):
    """Another worker imports the upload. Only the log of workers shows it."""

    code = "IMPORT_BUSY"


class SpendingCeilingError(BackpressureError):
    """The project has spent today's tokens, and what is asked for would take more."""

    code = "SPENDING_CEILING"


class ReplaceBusyError(BackpressureError):
    """Another plan of the project is being executed, or too many previews are going on."""

    code = "REPLACE_BUSY"


class SearchUnavailableError(ContextSearchError):
    """Neither turbopuffer nor Postgres could answer the question."""

    code = "SEARCH_UNAVAILABLE"
    retryable = True


class SearchTimeoutError(SearchUnavailableError):
    """None could, and at least one of them was not there because its time was over."""

    code = "SEARCH_TIMEOUT"


class PayloadTooLargeError(InvalidInputError):
    """A body is longer than its route takes."""

    code = "PAYLOAD_TOO_LARGE"


class ReplaceTooLargeError(PayloadTooLargeError):
    """A replacement makes its strings longer than it may."""

    code = "REPLACE_TOO_LARGE"


class PatternInvalidError(InvalidInputError):
    """Not a regular expression of RE2, or one that can match a part of a character."""

    code = "PATTERN_INVALID"


class PatternTooComplexError(PatternInvalidError):
    """The regular expression has a larger program, or more groups, than one may have."""

    code = "PATTERN_TOO_COMPLEX"


class PatternTooSlowError(InvalidInputError):
    """The search for the regular expression was ended at its deadline, too often to go on."""

    code = "PATTERN_TOO_SLOW"


class ReplacementInvalidError(InvalidInputError):
    """A ``$`` in the replacement of a regular expression has no meaning, or two."""

    code = "REPLACEMENT_INVALID"


class TooManyMatchesError(InvalidInputError):
    """A search finds more than one plan may change, or leave alone."""

    code = "TOO_MANY_MATCHES"


class UnsupportedMediaTypeError(InvalidInputError):
    """The Content-Type of a body is not JSON."""

    code = "UNSUPPORTED_MEDIA_TYPE"


class LeaseLostError(ContextSearchError):
    """The node's fence moved on or the node is gone: stop without writing anything more."""

    code = "LEASE_LOST"


class AttemptsExhaustedError(ContextSearchError):
    """Too many runs over a node ended, or were killed, without having written a single chunk."""

    code = "ATTEMPTS_EXHAUSTED"


class EmbeddingError(ContextSearchError):
    """The embedding provider did not deliver usable vectors."""

    code = "EMBEDDING_FAILED"
    retryable = True


class EmbeddingUnavailableError(EmbeddingError):
    """The provider is away, throttles (429, see ``retry_after_s``), or refuses the key."""

    code = "EMBEDDING_UNAVAILABLE"


class EmbeddingTimeoutError(EmbeddingUnavailableError):
    """The provider did not answer within the deadline."""

    code = "EMBEDDING_TIMEOUT"


class EmbeddingLimitError(EmbeddingError):
    """The project has had as many tokens embedded today as it may; see ``retry_after_s``."""

    code = "EMBEDDING_LIMIT_REACHED"


class EmbeddingRejectedError(EmbeddingError):
    """The provider refuses the input; the same call will fail again."""

    code = "EMBEDDING_REJECTED"
    retryable = False


class EmbeddingDimensionMismatchError(EmbeddingError):
    """Count, dimension or values of the reply are not what the model promises.

    ``found`` is how many numbers a vector of the reply has, where that is what is wrong.
    """

    code = "EMBEDDING_DIMENSION_MISMATCH"
    retryable = False
    found: int | None = None


class RerankError(ContextSearchError):
    """A reranking model did not deliver usable scores."""

    code = "RERANK_FAILED"
    retryable = True


class RerankUnavailableError(RerankError):
    """The provider is away, throttles, refuses the key, or answers what cannot be scores."""

    code = "RERANK_UNAVAILABLE"


class RerankTimeoutError(RerankUnavailableError):
    """The provider did not answer within the time that it was given."""

    code = "RERANK_TIMEOUT"


class RerankLimitError(RerankError):
    """The project has had as many requests to a reranking model today as it may."""

    code = "RERANK_LIMIT_REACHED"


class RerankRejectedError(RerankError):
    """The provider refuses the input; the same call will fail again."""

    code = "RERANK_REJECTED"
    retryable = False


class VectorStoreError(ContextSearchError):
    """turbopuffer did not do what was asked."""

    code = "VECTOR_STORE_FAILED"
    retryable = True


class VectorStoreUnavailableError(VectorStoreError):
    """No definite answer: 401, 403, 429, 5xx or lost connection. It proves no absence."""

    code = "VECTOR_STORE_UNAVAILABLE"


class VectorStoreTimeoutError(VectorStoreUnavailableError):
    """turbopuffer did not answer within the time that it was given."""

    code = "VECTOR_STORE_TIMEOUT"


class VectorStoreRejectedError(VectorStoreError):
    """A definite 4xx: the request is wrong and stays wrong."""

    code = "VECTOR_STORE_REJECTED"
    retryable = False


class NamespaceMissingError(VectorStoreError):
    """The namespace does not exist (a definite 404)."""

    code = "NAMESPACE_MISSING"
    retryable = False


class DatabaseUnavailableError(ContextSearchError):
    """Postgres cannot be reached, or aborted the transaction for a passing reason."""

    code = "DATABASE_UNAVAILABLE"
    retryable = True


class KeywordTimeoutError(DatabaseUnavailableError):
    """The keyword search in Postgres took longer than it was given."""

    code = "KEYWORD_TIMEOUT"


class CommitUnknownError(DatabaseUnavailableError):
    """The reply to COMMIT got lost: read the state again before anything is done twice."""

    code = "COMMIT_UNKNOWN"
    retryable = False


class QueueUnavailableError(ContextSearchError):
    """SQS took none or only some of the messages; the outbox still holds the rest."""

    code = "QUEUE_UNAVAILABLE"
    retryable = True


class ObjectsUnavailableError(ContextSearchError):
    """S3 cannot be reached, or does not let us in."""

    code = "STORAGE_UNAVAILABLE"
    retryable = True


class TokenIssuerUnavailableError(ContextSearchError):
    """The issuer of JSON web tokens does not give its keys, so that no token can be judged."""

    code = "TOKEN_ISSUER_UNAVAILABLE"
    retryable = True
