"""``kill -9`` in the middle of the work; the next start goes on and ends where it had to."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from context_search.text.chunking import chunk_spans
from local.options import ROOT
from local.state import State
from tests.builders import chinese, english, planted, until
from tests.e2e.library import COMETS, QUESTIONS
from tests.e2e.running import Running, Tenant, state_folder, user_environment

pytestmark = [pytest.mark.stack, pytest.mark.slow]
CONVERGES_WITHIN_S = 90.0
PLANNED = 300
GOES_ON_WITHIN_S = 60.0
"""A third of it is promised; a worker lives for 120."""


@contextlib.contextmanager
def serving(state: State) -> Iterator[tuple[subprocess.Popen[str], Running]]:
    """``python -m local.serve`` as a user starts it; ended afterwards, unless the test has."""
    command = [sys.executable, "-m", "local.serve", "--port=0", f"--state={state.root}"]
    process = subprocess.Popen(  # noqa: S603 - our own program
        [*command, "--schedule-every=2"],
        cwd=ROOT,
        env=user_environment(),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            assert process.stdout is not None
            assert any(line.startswith("context-search serves") for line in process.stdout)
            known: dict[str, Any] = json.loads(state.endpoints.read_text())
            with Running.at(
                known["base_url"],
                known["internal_secret"],
                known["database_url"],
                known["queue_url"],
                known["turbopuffer_url"],
            ) as running:
                yield process, running
        finally:
            process.terminate()


def test_a_stack_that_is_killed_while_it_indexes_finishes_after_the_next_start() -> None:
    document = {
        "comets": planted(english(120_000, 41), COMETS, 70_000),
        **{f"english {seed}": english(70_000, seed) for seed in range(42, 50)},
        **{f"chinese {seed}": chinese(40_000, seed) for seed in range(4)},
    }  # 1.2 MB
    total = sum(len(chunk_spans(text)) for text in document.values())
    with state_folder() as state:
        with serving(state) as (process, stack):
            tenant = stack.project()
            tool = tenant.tool(tenant.table(document))

            def is_in_the_middle() -> bool:
                done = tenant.state(tool)["indexed_chunks_count"]
                assert done < 0.95 * total
                return bool(done > 0.05 * total)

            until(is_in_the_middle, 60, every_s=0.02)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        with serving(state) as (_, stack):
            survivor = Tenant(stack, tenant.project_id, tenant.key)
            counters = survivor.ready(tool, CONVERGES_WITHIN_S)
            check(stack, survivor, tool, counters, total)


def done_in(stack: Running) -> int:
    """How many documents are done of the only plan."""
    [[count]] = stack.sql("SELECT count(*) FROM replace_table WHERE state = 'done'")
    return int(count)


def test_a_plan_that_is_killed_in_the_middle_goes_on_after_the_next_start() -> None:
    """It does not wait until a worker that is dead could not live any more."""
    with state_folder() as state:
        with serving(state) as (process, stack):
            tenant = stack.project()
            tables = [tenant.table({"text": f"the old word, {n}"}) for n in range(PLANNED)]
            replace = f"/api/v1/projects/{tenant.project_id}/replace"
            plan = tenant(
                "POST", f"{replace}/preview", json={"find": "old", "replace_with": "new"}
            ).json()
            asked = {"plan_id": plan["plan_id"], "digest": plan["digest"]}
            assert tenant("POST", f"{replace}/execute", json=asked).status_code == 202
            until(lambda: done_in(stack) > PLANNED // 10, 60, every_s=0.02)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        with serving(state) as (_, stack):
            before = done_in(stack)
            assert before < PLANNED
            survivor = Tenant(stack, tenant.project_id, tenant.key)
            until(lambda: done_in(stack) > before, GOES_ON_WITHIN_S, every_s=0.1)
            path = f"{replace}/{plan['plan_id']}"
            until(lambda: survivor("GET", path).json()["state"] == "done", CONVERGES_WITHIN_S)
            for table_id in tables:
                read = survivor("GET", f"/api/v1/tables/{table_id}").json()
                assert read["revision"] == 2


def check(
    stack: Running, tenant: Tenant, tool: dict[str, Any], counters: dict[str, Any], total: int
) -> None:
    """Everything is there once, and nothing else is."""
    assert counters["chunks_count"] == counters["indexed_chunks_count"] == total
    assert counters["nodes"] == {"indexed": 13}
    name = tool["namespace"]
    until(lambda: stack.documents(name) == stack.rows(name), 30)
    assert stack.sql(
        "SELECT count(*), count(DISTINCT (json_pointer, chunk_index)) FROM chunks"
    ) == [[total, total]]
    assert stack.sql("SELECT state, count(*) FROM chunk_set GROUP BY state") == [["active", 13]]
    [best, *_] = tenant.search(tool, QUESTIONS[COMETS])["results"]
    assert COMETS[:20] in best["chunk"]["chunk_text"]
