"""Steps of cleanup take so many rows at most, whichever way the planner joins."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from context_search.store import UnitOfWork
from tests.builders import Workbench

_PLANS = """
    INSERT INTO replace_plan (project_id, state, scope, request_hmac, engine, saved_at, expires_at,
        kept_until)
    SELECT :project, 'previewing', '{}', '', '', now() - interval '1 day',
        now() - interval '1 day', now() FROM generate_series(1, 6)
"""
Step = Callable[[UnitOfWork], int]
# Name → six rows for it, and the step with a limit of two.
STEPS: dict[str, tuple[str, Step]] = {
    "imports that fell silent": (
        """
        INSERT INTO upload (project_id, format, size, state, saved_at)
        SELECT :project, 'json', 1, 'importing', now() - interval '1 day' FROM generate_series(1, 6)
        """,
        lambda work: len(work.uploads.silent(silent_s=60, limit=2)),
    ),
    "plans that fell silent": (_PLANS, lambda work: len(work.plans.silent(silent_s=60, limit=2))),
    "plans that expire": (_PLANS, lambda work: work.plans.expire(limit=2)),
    "permits that nobody uses": (
        """
        INSERT INTO permit (pool, number, lease_until)
        SELECT CAST(:project AS text), number, now() - interval '1 day'
        FROM generate_series(1, 6) AS number
        """,
        lambda work: work.permits.delete_unused(unused_s=60, limit=2),
    ),
    "answers that were kept": (
        """
        INSERT INTO idempotency_key
            (project_id, key_hash, request_hash, holder, lease_until, created_at)
        SELECT :project, CAST(CAST(number AS text) AS bytea), '', '', now(),
            now() - interval '1 day' FROM generate_series(1, 6) AS number
        """,
        lambda work: work.idempotency_keys.delete_expired(older_than_s=60, limit=2),
    ),
    "keys of the console": (
        """
        INSERT INTO api_key (project_id, prefix, key_hash, kind, expires_at)
        SELECT :project, '', CAST(CAST(number AS text) AS bytea), 'console',
            now() - interval '1 day' FROM generate_series(1, 6) AS number
        """,
        lambda work: work.keys.delete_expired_console(older_than_s=60, limit=2),
    ),
}


@pytest.mark.parametrize("way", ["hashjoin", "mergejoin", "nestloop"])
@pytest.mark.parametrize("name", STEPS)
def test_a_step_takes_no_more_than_its_limit(bench: Workbench, name: str, way: str) -> None:
    """Read again for every row, a subquery passes over what it has locked and gives others."""
    rows, step = STEPS[name]
    bench.sql(rows, project=bench.project.id)
    others = {"hashjoin", "mergejoin", "nestloop", "material", "hashagg", "sort"} - {way}
    with bench.tx() as tx:
        for each in others:
            tx.run(f"SET LOCAL enable_{each} = off")
        taken = step(UnitOfWork(tx))
    assert taken == 2
