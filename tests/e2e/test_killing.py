"""``kill -9`` in the middle of the work; the next start goes on and ends where it had to."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from context_search.text.chunking import chunk_spans
from tests.builders import chinese, english, planted, until
from tests.e2e.library import COMETS, QUESTIONS
from tests.e2e.running import Running, Tenant, state_folder
from tests.e2e.served import ServedStack

pytestmark = [pytest.mark.stack, pytest.mark.slow]
CONVERGES_WITHIN_S = 90.0
PLANNED = 300
GOES_ON_WITHIN_S = 60.0
"""A third of it is promised; a worker lives for 120."""


def test_a_stack_that_is_killed_while_it_indexes_finishes_after_the_next_start() -> None:
    document = {
        "comets": planted(english(120_000, 41), COMETS, 70_000),
        **{f"english {seed}": english(70_000, seed) for seed in range(42, 50)},
        **{f"chinese {seed}": chinese(40_000, seed) for seed in range(4)},
    }  # 1.2 MB
    total = sum(len(chunk_spans(text)) for text in document.values())
    with state_folder() as state, ServedStack(state) as served:
        tool = served.tenant.tool(served.tenant.table(document))

        def is_in_the_middle() -> bool:
            done = served.tenant.state(tool)["indexed_chunks_count"]
            assert done < 0.95 * total
            return bool(done > 0.05 * total)

        until(is_in_the_middle, 60, every_s=0.02)
        served.end(signal.SIGKILL)
        served.start()
        counters = served.tenant.ready(tool, CONVERGES_WITHIN_S)
        assert counters["chunks_count"] == counters["indexed_chunks_count"] == total
        assert counters["nodes"] == {"indexed": len(document)}
        check(served.tenant, tool, total)


def check(tenant: Tenant, tool: dict[str, Any], total: int) -> None:
    """Everything is there once, and nothing else is."""
    stack, name = tenant.stack, tool["namespace"]
    until(lambda: stack.documents(name) == stack.rows(name), 30)
    assert stack.sql(
        "SELECT count(*), count(DISTINCT (json_pointer, chunk_index)) FROM chunks"
    ) == [[total, total]]
    assert stack.sql("SELECT state, count(*) FROM chunk_set GROUP BY state") == [["active", 13]]
    [best, *_] = tenant.search(tool, QUESTIONS[COMETS])["results"]
    assert COMETS[:20] in best["chunk"]["chunk_text"]


def done_in(stack: Running) -> int:
    """How many documents are done of the only plan."""
    [[count]] = stack.sql("SELECT count(*) FROM replace_table WHERE state = 'done'")
    return int(count)


def test_a_plan_that_is_killed_in_the_middle_goes_on_after_the_next_start() -> None:
    """It does not wait until a worker that is dead could not live any more."""
    with state_folder() as state, ServedStack(state) as served:
        tenant = served.tenant
        tenant.stack.sql(
            "INSERT INTO context_table (project_id, name, data)"
            " SELECT :project, 'word', jsonb_build_object('text', 'the old word, ' || n)"
            " FROM generate_series(1, CAST(:count AS int)) AS n",
            project=tenant.project_id,
            count=PLANNED,
        )
        replace = f"/api/v1/projects/{tenant.project_id}/replace"
        wanted = {"find": "old", "replace_with": "new"}
        plan = tenant("POST", f"{replace}/preview", json=wanted).json()
        asked = {"plan_id": plan["plan_id"], "digest": plan["digest"]}
        assert tenant("POST", f"{replace}/execute", json=asked).status_code == 202
        until(lambda: done_in(tenant.stack) > PLANNED // 10, 60, every_s=0.02)
        served.end(signal.SIGKILL)
        served.start()
        tenant = served.tenant
        before = done_in(tenant.stack)
        assert before < PLANNED
        until(lambda: done_in(tenant.stack) > before, GOES_ON_WITHIN_S, every_s=0.1)
        path = f"{replace}/{plan['plan_id']}"
        until(lambda: tenant("GET", path).json()["state"] == "done", CONVERGES_WITHIN_S)
        assert tenant.stack.sql(
            "SELECT revision, count(*) FROM context_table"
            " WHERE data ->> 'text' LIKE 'the new word,%' GROUP BY revision"
        ) == [[2, PLANNED]]
