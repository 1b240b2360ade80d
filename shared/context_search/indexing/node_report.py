"""What one run over nodes did, and when it has to come again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from context_search.core.errors import ContextSearchError

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
