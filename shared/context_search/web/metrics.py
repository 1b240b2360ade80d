"""Metrics in CloudWatch's embedded metric format, one line of JSON on standard output each.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
Dimensions are the service, the embedding model and error codes; never an id, never a text.
docs/operations.md lists the names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from context_search.domain.errors import ContextSearchError, EmbeddingError, VectorStoreError
from context_search.domain.progress import Progress
from context_search.domain.search import Answer

if TYPE_CHECKING:  # what is reported here belongs to one function each
    from context_search.services.indexing.node_report import NodeReport, Outcome
    from context_search.services.upkeep.cleanup import CleanupReport

INDEXING, SEARCH, CLEANUP = "index-node", "search", "cleanup"
MANAGEMENT = "create-tool"
_NAMESPACE = "context-search"
_COUNTED: Mapping[Outcome, str] = {
    "indexed": "nodes_indexed_total",
    "handed_over": "nodes_handed_over_total",
    "quarantined": "nodes_quarantined_total",
    "skipped": "nodes_skipped_total",
    "retried": "retries_total",
}


def emit_queue_age(seconds: float) -> None:
    """Says how long an order has waited since it was sent, earlier receives included."""
    _emit(INDEXING, seconds={"queue_age": max(0.0, seconds)})


def emit_node(report: NodeReport) -> None:
    """Says what a run over a node did; nothing when there was nothing to do."""
    if report.outcome == "nothing_to_do":
        return
    _emit(
        INDEXING,
        {"embedding_model": report.model},
        counts={
            _COUNTED[report.outcome]: report.nodes,
            "chunks_created_total": report.chunks,
            "chunks_embedded_total": report.embedded,
            "chunks_reused_total": report.reused,
        },
        seconds={f"{stage}_duration": spent for stage, spent in report.seconds.items()},
    )
    if report.error is not None:
        emit_error(report.error, {"embedding_model": report.model})


def emit_error(error: ContextSearchError, dimensions: Mapping[str, str] | None = None) -> None:
    """Counts an error of an order: in all, and by its code."""
    name = "order_errors_total"
    if isinstance(error, EmbeddingError):
        name = "embedding_errors_total"
    elif isinstance(error, VectorStoreError):
        name = "turbopuffer_upload_errors_total"
    _emit(INDEXING, dimensions or {}, counts={name: 1}, code=error.code)


def emit_search(kind: str, answer: Answer) -> None:
    """Says how a search went: its stages, its legs and what was degraded."""
    found = answer.found
    counts = {
        "searches_total": 1,
        "searches_empty_total": int(not answer.hits),
        "searches_degraded_total": int(bool(answer.degraded)),
        "candidates_total": len(found.vector) + len(found.keyword),
        "candidates_gone_total": answer.gone,
        "hits_stale_total": sum(hit.chunk.stale for hit in answer.hits),
        "question_vectors_kept_total": int(found.vector_was_kept),
        "targets_kept_total": int(answer.target_was_kept),
        **{f"{leg}_legs_total": 1 for leg in found.legs},
    }
    seconds = {f"search_{stage}_duration": spent for stage, spent in answer.seconds.items()}
    _emit(SEARCH, {"kind": kind}, counts=counts, seconds=seconds)
    for code in answer.degraded:
        _emit(SEARCH, {"kind": kind}, counts={"degradations_total": 1}, code=code)


def emit_search_error(kind: str, error: ContextSearchError) -> None:
    """Counts a search that was refused or failed, by code."""
    _emit(SEARCH, {"kind": kind}, counts={"search_errors_total": 1}, code=error.code)


def emit_request(route: str, status: int, seconds: float) -> None:
    """Counts a request of the management API. ``route`` is API Gateway's key, never the path."""
    counts = {
        "requests_total": 1,
        "requests_refused_total": int(400 <= status < 500),
        "requests_failed_total": int(status >= 500),
    }
    _emit(MANAGEMENT, {"route": route}, counts=counts, seconds={"request_duration": seconds})


def emit_created(progress: Progress) -> None:
    """Counts a new Search Tool and the big strings that were found in its scope."""
    counts = {
        "tools_created_total": 1,
        "tools_ready_at_once_total": int(progress.status == "ready"),
        "nodes_found_total": progress.nodes_count,
    }
    _emit(MANAGEMENT, counts=counts)


def emit_cleanup(report: CleanupReport) -> None:
    """Says what a scheduled run did, and how the system stands."""
    counts = {
        "messages_relayed_total": report.messages_relayed,
        "nodes_revived_total": report.nodes_revived,
        "generations_switched_total": report.generations_switched,
        "indexes_evicted_total": report.indexes_evicted,
        "documents_deleted_total": report.documents_deleted,
        "documents_checked_total": report.documents_checked,
        "orphans_deleted_total": report.orphans_deleted,
        "documents_missing_total": report.missing_requeued,
        "cleanup_errors_total": len(report.errors),
        "cleanup_incomplete_total": int(not report.is_complete),
    }
    if report.unknown_namespaces is not None:
        counts["unknown_namespaces"] = report.unknown_namespaces
    seconds: dict[str, float] = {}
    if report.readings is not None:
        counts["active_chunks_total"] = report.readings.active_chunks
        counts["nodes_in_quarantine"] = report.readings.quarantined_nodes
        counts["indexes_evicted"] = report.readings.evicted_indexes
        seconds["outbox_age"] = report.readings.outbox_age_s
    _emit(CLEANUP, counts=counts, seconds=seconds)


def _emit(
    service: str,
    dimensions: Mapping[str, str] | None = None,
    *,
    counts: Mapping[str, float] | None = None,
    seconds: Mapping[str, float] | None = None,
    code: str | None = None,
) -> None:
    # Not Metrics: its state is shared, and on one machine handlers run in threads.
    metrics = EphemeralMetrics(service=service)
    metrics.namespace = metrics.namespace or _NAMESPACE
    named = {dimension: text for dimension, text in (dimensions or {}).items() if text}
    for dimension, text in named.items():
        metrics.add_dimension(dimension, text)
    if code:
        metrics.add_dimensions(service=service, **named, code=code)
    for name, value in (counts or {}).items():
        metrics.add_metric(name, MetricUnit.Count, value)
    for name, value in (seconds or {}).items():
        metrics.add_metric(f"{name}_seconds", MetricUnit.Seconds, round(value, 6))
    metrics.flush_metrics()
