"""What one run over nodes did, and when it has to come again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from context_search.core.errors import CommitUnknownError, ContextSearchError
from context_search.core.model import Claim
from context_search.integrations.ports import Clock

Outcome = Literal["indexed", "nothing_to_do", "handed_over", "quarantined", "skipped", "retried"]
Stage = Literal["chunking", "embedding", "upload", "swap"]


@dataclass(frozen=True, slots=True)
class NodeReport:
    """One run over a node, or over ``nodes`` small ones together.

    It holds no id and no text, so all of it may become metrics.

    ``chunks`` counts the rows that this run created, ``kept`` those that stay as they are in
    turbopuffer, ``embedded`` and ``reused`` where the vectors came from that it wrote. ``seconds``
    has the stages that were entered; reading vectors back counts as embedding.
    ``error`` is why the run was retried or its node quarantined.
    """

    outcome: Outcome
    model: str = ""
    chunks: int = 0
    kept: int = 0
    embedded: int = 0
    reused: int = 0
    seconds: Mapping[Stage, float] = field(default_factory=dict)
    error: ContextSearchError | None = None
    nodes: int = 1


@dataclass(slots=True)
class NodeRun:
    """Claimed nodes of one generation under work, and what was done to them so far.

    ``left``: those that must be taken alone afterwards.
    """

    claims: Sequence[Claim]
    clock: Clock
    left: Sequence[Claim] = ()
    outcome: Outcome = "nothing_to_do"
    nodes: int = 0
    chunks: int = 0
    kept: int = 0
    embedded: int = 0
    reused: int = 0
    seconds: dict[Stage, float] = field(default_factory=dict)

    @property
    def is_alone(self) -> bool:
        """Says whether the run has one node, so that a failure is this node's."""
        return len(self.claims) == 1

    @property
    def written(self) -> int:
        """Returns how many chunks turbopuffer was given."""
        return self.embedded + self.reused

    @contextmanager
    def stage(self, name: Stage) -> Iterator[None]:
        """Adds the time that the block takes to a stage, also when it fails."""
        started = self.clock.monotonic()
        try:
            yield
        finally:
            spent = self.clock.monotonic() - started
            self.seconds[name] = self.seconds.get(name, 0.0) + spent

    def report(self, error: ContextSearchError | None = None) -> NodeReport:
        """Returns what was done up to now."""
        return NodeReport(
            outcome=self.outcome,
            model=self.claims[0].config.model,
            chunks=self.chunks,
            kept=self.kept,
            embedded=self.embedded,
            reused=self.reused,
            seconds=dict(self.seconds),
            error=error,
            nodes=1 if self.is_alone else self.nodes,
        )


MAX_BACKOFF_S = 300.0
"""The longest delay of a message, whatever a failing part asked for: it may be well again soon."""


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
    """Returns after how many seconds to come again: as asked, else 2, 4, 8 …; at most 300."""
    return min(MAX_BACKOFF_S, error.retry_after_s or 2.0 ** min(attempt, 16))


def error_record(error: ContextSearchError, at: datetime, *, retryable: bool) -> dict[str, object]:
    """Returns what a node keeps of an error."""
    return {
        "code": error.code,
        "message": error.message,
        "retryable": retryable,
        "at": at.isoformat(),
    }
