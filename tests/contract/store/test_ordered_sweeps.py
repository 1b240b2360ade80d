"""Contract of ``Sweeps.order``: a namespace that has to be compared now."""

from __future__ import annotations

from context_search.maintenance.rules.sweeps import SweepCounts, SweepCursor
from tests.contract.store.bench import Bench

FOUND = SweepCounts(checked=3, orphans=2, missing=1, repaired=1)


def test_an_ordered_generation_is_the_next_and_begins_anew(bench: Bench) -> None:
    indexes = [bench.tool(bench.table({}))[1] for _ in range(3)]
    for cursor in bench.work.sweeps.due(older_than_s=0, limit=9):
        bench.work.sweeps.note(cursor, after="k", found=FOUND)
    bench.pass_time(1)
    wanted = indexes[2]
    for _ in range(2):
        bench.work.sweeps.order(wanted.generation.id)
        first, *others = bench.work.sweeps.due(older_than_s=3600, limit=9)
        assert first == SweepCursor(wanted.generation.id, wanted.generation.namespace, "")
        assert [cursor.after for cursor in others] == ["k", "k"]
