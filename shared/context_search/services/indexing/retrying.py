"""When work on a node comes again, and what the node keeps of the failure."""

from __future__ import annotations

from datetime import datetime

from context_search.domain.errors import CommitUnknownError, ContextSearchError
from context_search.services.indexing.node_report import NodeReport

MAX_BACKOFF_S = 300.0


class RetryLater(Exception):  # noqa: N818 - not an error: the queue is asked to come again
    """The node is not finished; deliver the message again after ``after_s`` seconds.

    ``report`` says what was done until then, None when the message came too early.
    """

    def __init__(self, after_s: float, report: NodeReport | None = None) -> None:
        super().__init__(f"again in {after_s:.0f} s")
        self.after_s = after_s
        self.report = report


def is_passing(error: ContextSearchError) -> bool:
    """Tells whether the same step may succeed later."""
    return error.retryable or isinstance(error, CommitUnknownError)


def pause_s(error: ContextSearchError, attempt: int) -> float:
    """Returns after how many seconds to come again: as asked, else 2, 4, 8 … at most 300."""
    return error.retry_after_s or min(MAX_BACKOFF_S, 2.0 ** min(attempt, 16))


def error_record(error: ContextSearchError, at: datetime, *, retryable: bool) -> dict[str, object]:
    """Returns what a node keeps of an error."""
    return {
        "code": error.code,
        "message": error.message,
        "retryable": retryable,
        "at": at.isoformat(),
    }
