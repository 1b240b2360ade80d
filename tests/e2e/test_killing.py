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

from context_search.domain.text.chunking import chunk_spans
from local.options import ROOT
from local.state import State
from tests.builders import chinese, english, planted, until
from tests.e2e.library import COMETS, QUESTIONS
from tests.e2e.running import Running, Tenant, state_folder, user_environment

pytestmark = [pytest.mark.stack, pytest.mark.slow]
CONVERGES_WITHIN_S = 90.0


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
