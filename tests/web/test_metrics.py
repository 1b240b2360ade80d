"""What CloudWatch reads from the functions' output."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from context_search.core.errors import (
    DatabaseUnavailableError,
    EmbeddingTimeoutError,
)
from context_search.indexing.node_report import NodeReport
from context_search.maintenance.cleanup_report import CleanupReport
from context_search.maintenance.rules.sweeps import SweepRound
from context_search.web.metrics import METRICS, emit_cleanup, emit_error, emit_node, emit_queue_age

REPORT = NodeReport(
    outcome="indexed",
    model="provider/model",
    chunks=7,
    kept=90,
    embedded=4,
    reused=3,
    seconds={"chunking": 0.25, "embedding": 1.5, "upload": 0.125, "swap": 0.0625},
)


def printed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The lines on standard output, each a JSON object of the embedded metric format."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def units(line: dict[str, Any]) -> dict[str, str]:
    """The metrics that a line defines, with their units; each has a value in the line."""
    [definition] = line["_aws"]["CloudWatchMetrics"]
    assert definition["Namespace"] == "context-search"
    assert all(metric["Name"] in line for metric in definition["Metrics"])
    return {metric["Name"]: metric["Unit"] for metric in definition["Metrics"]}


def dimensions(line: dict[str, Any]) -> list[dict[str, str]]:
    """The sets of dimensions that a line is counted under."""
    [definition] = line["_aws"]["CloudWatchMetrics"]
    return [{name: line[name] for name in names} for names in definition["Dimensions"]]


def test_an_indexed_node_gives_its_counts_and_the_time_of_each_stage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    emit_node(REPORT)
    [line] = printed(capsys)
    assert dimensions(line) == [{"service": "index-node"}]
    values = {name: (line[name], unit) for name, unit in units(line).items()}
    assert values == {
        "nodes_indexed_total": ([1.0], "Count"),
        "chunks_embedded_total": ([4.0], "Count"),
        "chunks_reused_total": ([3.0], "Count"),
        "embedding_duration_seconds": ([1.5], "Seconds"),
        "upload_duration_seconds": ([0.125], "Seconds"),
    }
    fields = {name: line[name] for name in line.keys() - values.keys() - {"_aws", "service"}}
    assert fields == {
        "outcome": "indexed",
        "embedding_model": "provider/model",
        "chunks_created_total": 7,
        "chunks_kept_total": 90,
        "chunking_duration_seconds": 0.25,
        "swap_duration_seconds": 0.0625,
    }


def test_there_are_few_metrics_as_each_costs() -> None:
    assert sum(map(len, METRICS.values())) <= 42


def test_what_failed_is_counted_with_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    emit_node(NodeReport("retried", "provider/model", error=EmbeddingTimeoutError()))
    emit_node(NodeReport("quarantined", "provider/model"))
    emit_node(NodeReport("nothing_to_do"))
    emit_error(DatabaseUnavailableError())
    retried, quarantined, failed = printed(capsys)
    assert (retried["retries_total"], retried["order_errors_total"]) == ([1.0], [1.0])
    assert retried["code"] == "EMBEDDING_TIMEOUT"
    assert quarantined["nodes_quarantined_total"] == [1.0]
    assert (failed["order_errors_total"], failed["code"]) == ([1.0], "DATABASE_UNAVAILABLE")
    assert dimensions(failed) == [{"service": "index-node"}]


def test_the_age_of_an_order_is_never_negative(capsys: pytest.CaptureFixture[str]) -> None:
    emit_queue_age(12.5)
    emit_queue_age(-0.1)  # clocks differ
    ages = [line["queue_age_seconds"] for line in printed(capsys)]
    assert ages == [[12.5], [0.0]]


def test_a_cleanup_run_gives_what_it_healed(capsys: pytest.CaptureFixture[str]) -> None:
    report = CleanupReport(
        orphans_deleted=2, missing_requeued=3, errors=["bury: X"], is_complete=False
    )
    emit_cleanup(report)
    [line] = printed(capsys)
    assert dimensions(line) == [{"service": "cleanup"}]
    assert set(units(line).values()) == {"Count"}
    assert (line["orphans_deleted_total"], line["documents_missing_total"]) == ([2.0], [3.0])
    assert (line["cleanup_errors_total"], line["cleanup_incomplete_total"]) == ([1.0], [1.0])


def test_what_is_not_known_of_a_run_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = SweepRound(vector_rows=2_000, pages=2, seconds=240, oldest_s=90)
    emit_cleanup(CleanupReport(sweep_round=sizes, unknown_namespaces=2))
    emit_cleanup(CleanupReport(sweep_round=replace(sizes, seconds=None)))
    known, unknown = printed(capsys)
    assert (known["sweep_vector_rows"], known["sweep_oldest_seconds"]) == (2_000, 90)
    assert known["sweep_round_seconds"] == 240
    assert "sweep_round_seconds" not in units(known) | unknown
    assert known["unknown_namespaces"] == [2.0]
    assert "unknown_namespaces" not in unknown


def test_the_namespace_may_be_another_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "another")
    emit_queue_age(1)
    [line] = printed(capsys)
    assert line["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "another"
