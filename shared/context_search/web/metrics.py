"""One line of JSON for each request, search, run over strings and run of cleanup.

And one for each invocation that turbopuffer or a provider bills something for.

CloudWatch makes metrics of it (embedded metric format), which cost by name and dimension. So only
``METRICS`` are metrics, with the service as their only dimension; the rest are fields of the line,
for CloudWatch Logs Insights. No line has an id of a row, a text, a pointer or a key.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
docs/operations.md lists the names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from context_search.core.errors import ContextSearchError
from context_search.core.progress import Progress
from context_search.integrations.ports import Billed
from context_search.ranking.search import SearchResult

if TYPE_CHECKING:  # what is reported here belongs to one function each
    from context_search.indexing.node_report import NodeReport, Outcome
    from context_search.maintenance.cleanup_report import CleanupReport

INDEXING, SEARCH, CLEANUP = "index-node", "search", "cleanup"
MANAGEMENT = "create-tool"
BILLED = "billed"
"""A service of its own for what all functions are billed: four metrics in all, not four for each
function.
"""
ACCESS = "access"
"""A service of its own for credentials that any function refuses."""
_NAMESPACE = "context-search"
METRICS: Mapping[str, frozenset[str]] = {
    MANAGEMENT: frozenset(
        {
            "requests_total",
            "requests_refused_total",
            "requests_failed_total",
            "request_duration_seconds",
            "tools_created_total",
        }
    ),
    SEARCH: frozenset(
        {
            "searches_total",
            "searches_empty_total",
            "searches_degraded_total",
            "search_errors_total",
            "candidates_gone_total",
            "breaker_refusals_total",
            "search_total_duration_seconds",
            "search_embed_duration_seconds",
            "search_turbopuffer_duration_seconds",
            "search_postgres_duration_seconds",
        }
    ),
    INDEXING: frozenset(
        {
            "queue_age_seconds",
            "nodes_indexed_total",
            "nodes_quarantined_total",
            "retries_total",
            "chunks_embedded_total",
            "chunks_reused_total",
            "embedding_duration_seconds",
            "upload_duration_seconds",
            "order_errors_total",
        }
    ),
    CLEANUP: frozenset(
        {
            "messages_relayed_total",
            "nodes_revived_total",
            "documents_deleted_total",
            "orphans_deleted_total",
            "documents_missing_total",
            "cleanup_errors_total",
            "cleanup_incomplete_total",
            "active_chunks_total",
            "nodes_in_quarantine",
            "indexes_evicted",
            "outbox_age_seconds",
            "unknown_namespaces",
        }
    ),
    BILLED: frozenset(
        {
            "turbopuffer_written_bytes_total",
            "turbopuffer_queried_bytes_total",
            "turbopuffer_returned_bytes_total",
            "embedding_tokens_total",
        }
    ),
    ACCESS: frozenset({"credentials_refused_total", "internal_secrets_refused_total"}),
}
"""What CloudWatch counts of each service: 42 metrics, at $0.30 a month each."""
Credential = Literal["bearer", "internal secret", "sign-in code"]
"""What a caller shows: a key or token, the operator's secret, or a code of the console."""
_COUNTED: Mapping[Outcome, str] = {
    "indexed": "nodes_indexed_total",
    "handed_over": "nodes_handed_over_total",
    "quarantined": "nodes_quarantined_total",
    "skipped": "nodes_skipped_total",
    "retried": "retries_total",
}


def emit_queue_age(seconds: float) -> None:
    """Says how long a message has waited since it was sent, earlier receives included."""
    _emit(INDEXING, {"queue_age_seconds": max(0.0, seconds)})


def emit_node(report: NodeReport) -> None:
    """Says what a run over strings did; nothing when there was nothing to do."""
    if report.outcome == "nothing_to_do":
        return
    values = {
        _COUNTED[report.outcome]: report.nodes,
        "chunks_created_total": report.chunks,
        "chunks_kept_total": report.kept,
        "chunks_embedded_total": report.embedded,
        "chunks_reused_total": report.reused,
        **{f"{stage}_duration_seconds": spent for stage, spent in report.seconds.items()},
    }
    if report.error is not None:
        values["order_errors_total"] = 1
    code = report.error.code if report.error else None
    _emit(INDEXING, values, outcome=report.outcome, embedding_model=report.model, code=code)


def emit_error(error: ContextSearchError) -> None:
    """Counts a message that failed as a whole."""
    _emit(INDEXING, {"order_errors_total": 1}, code=error.code)


def emit_search(kind: str, answer: SearchResult) -> None:
    """Says how a search went: its stages, its legs and what was degraded."""
    found = answer.found
    values = {
        "searches_total": 1,
        "searches_empty_total": int(not answer.hits),
        "searches_degraded_total": int(bool(answer.degraded)),
        "candidates_total": len(found.vector) + len(found.keyword),
        "candidates_gone_total": answer.gone,
        "breaker_refusals_total": found.breaker_refusals,
        "hits_stale_total": sum(hit.chunk.stale for hit in answer.hits),
        "question_vectors_kept_total": int(found.vector_was_kept),
        "targets_kept_total": int(answer.target_was_kept),
        **{f"search_{stage}_duration_seconds": spent for stage, spent in answer.seconds.items()},
    }
    legs, degraded = list(found.legs), list(answer.degraded)
    _emit(SEARCH, values, kind=kind, hits=len(answer.hits), legs=legs, degraded=degraded)


def emit_search_error(kind: str, error: ContextSearchError) -> None:
    """Counts a search that was refused or failed."""
    _emit(SEARCH, {"search_errors_total": 1}, kind=kind, code=error.code)


def emit_request(route: str, status: int, seconds: float, code: str | None) -> None:
    """Counts a request of management. ``route`` is API Gateway's key, never the path.

    ``code`` is that of the problem with which it was answered.
    """
    values = {
        "requests_total": 1,
        "requests_refused_total": int(400 <= status < 500),
        "requests_failed_total": int(status >= 500),
        "request_duration_seconds": seconds,
    }
    _emit(MANAGEMENT, values, route=route, status=status, code=code)


def emit_refused(credential: Credential, route: str, code: str) -> None:
    """Counts a credential that was shown and refused; ``code`` is the refusal's."""
    values = {
        "credentials_refused_total": 1,
        "internal_secrets_refused_total": int(credential == "internal secret"),
    }
    _emit(ACCESS, values, credential=credential, route=route, code=code)


def emit_created(progress: Progress) -> None:
    """Counts a new Search Tool and the big strings that were found in its scope."""
    values = {
        "tools_created_total": 1,
        "tools_ready_at_once_total": int(progress.status == "ready"),
        "nodes_found_total": progress.nodes_count,
    }
    _emit(MANAGEMENT, values)


def emit_cleanup(report: CleanupReport) -> None:
    """Says what a scheduled run did, and how the system stands."""
    values: dict[str, float] = {
        "messages_relayed_total": report.messages_relayed,
        "nodes_revived_total": report.nodes_revived,
        "generations_switched_total": report.generations_switched,
        "indexes_evicted_total": report.indexes_evicted,
        "documents_deleted_total": report.documents_deleted,
        "documents_checked_total": report.documents_checked,
        "orphans_deleted_total": report.orphans_deleted,
        "documents_missing_total": report.missing_requeued,
        "versions_pruned_total": report.versions_pruned,
        "pieces_removed_total": report.pieces_removed,
        "cleanup_errors_total": len(report.errors),
        "cleanup_incomplete_total": int(not report.is_complete),
    }
    if report.unknown_namespaces is not None:
        values["unknown_namespaces"] = report.unknown_namespaces
    if report.sweep_round is not None:
        values["sweep_vector_rows"] = report.sweep_round.vector_rows
        values["sweep_oldest_seconds"] = report.sweep_round.oldest_s
        if report.sweep_round.seconds is not None:
            values["sweep_round_seconds"] = report.sweep_round.seconds
    if report.readings is not None:
        values["active_chunks_total"] = report.readings.active_chunks
        values["nodes_in_quarantine"] = report.readings.quarantined_nodes
        values["indexes_evicted"] = report.readings.evicted_indexes
        values["outbox_age_seconds"] = report.readings.outbox_age_s
        values["row_security_off"] = int(not report.readings.row_security)
    _emit(CLEANUP, values)


def emit_billed(service: str, billed: Billed) -> None:
    """Says what turbopuffer and the provider bill for an invocation.

    No line where they bill nothing.
    """
    values = {
        "turbopuffer_written_bytes_total": billed.written_bytes,
        "turbopuffer_queried_bytes_total": billed.queried_bytes,
        "turbopuffer_returned_bytes_total": billed.returned_bytes,
        "embedding_tokens_total": billed.tokens,
        "reranks_total": billed.reranks,
        "rerank_tokens_total": billed.rerank_tokens,
    }
    if charged := {name: value for name, value in values.items() if value}:
        charged.setdefault("embedding_tokens_total", 0)  # without a metric there would be no line
        _emit(BILLED, charged, billed_by=service)


def _emit(service: str, values: Mapping[str, float], **fields: object) -> None:
    # Not Metrics: its state is shared, and on one machine handlers run in threads.
    metrics = EphemeralMetrics(service=service)
    metrics.namespace = metrics.namespace or _NAMESPACE
    for name, value in values.items():
        if name not in METRICS[service]:
            metrics.add_metadata(name, round(value, 6))
        elif name.endswith("_seconds"):
            metrics.add_metric(name, MetricUnit.Seconds, round(value, 6))
        else:
            metrics.add_metric(name, MetricUnit.Count, value)
    for name, field in fields.items():
        if field is not None:
            metrics.add_metadata(name, field)
    metrics.flush_metrics()
