"""Contract of ``Removals``."""

from __future__ import annotations

from dataclasses import replace

from context_search.core.model import Index
from tests.contract.store.bench import TEXT, Bench
from tests.steps import SMALL


def to_delete(bench: Bench, *, config: object = SMALL) -> Index:
    """An index whose only node was removed."""
    _, index = bench.tool(bench.table({"a": TEXT}), config=config)  # type: ignore[arg-type]
    [node_id] = bench.enumerate(index)
    bench.finish(node_id)
    bench.work.nodes.remove([node_id])
    return index


def note(bench: Bench, *, grace_s: float) -> int:
    """Deletes what may be deleted; returns how many tombstones are forgotten."""
    stones = bench.tombstones(older_than_s=grace_s)
    return bench.work.removals.note_deleted(stones, older_than_s=grace_s) if stones else 0


def test_a_tombstone_says_what_to_delete(bench: Bench) -> None:
    index = to_delete(bench, config=replace(SMALL, window_tokens=10))
    stones = bench.tombstones()
    assert {stone.namespace for stone in stones} == {index.generation.namespace}
    assert min(stone.window_count for stone in stones) > 1


def test_a_document_is_deleted_twice_with_the_grace_between(bench: Bench) -> None:
    to_delete(bench)
    assert len(bench.tombstones(older_than_s=100)) == 3
    assert note(bench, grace_s=100) == 0
    bench.pass_time(90)
    assert bench.tombstones(older_than_s=100) == []
    bench.pass_time(11)
    assert len(bench.tombstones(older_than_s=100)) == 3
    assert note(bench, grace_s=100) == 3
    assert bench.tombstones(older_than_s=100) == []


def test_a_document_that_was_never_deleted_is_still_deleted_twice(bench: Bench) -> None:
    to_delete(bench)
    bench.pass_time(1000)
    assert note(bench, grace_s=100) == 0
    assert note(bench, grace_s=100) == 3
    assert note(bench, grace_s=100) == 0


def test_a_document_of_a_retired_generation_is_deleted_once(bench: Bench) -> None:
    index = to_delete(bench)
    to_delete(bench)
    with bench.store.for_all("test") as work:
        work.indexes.retire(index.id)
        stones = work.removals.tombstones(older_than_s=100, limit=99)
        of_retired = [stone for stone in stones if stone.namespace == index.generation.namespace]
        others = [stone for stone in stones if stone not in of_retired]
        assert len(of_retired) == len(others) == 3
        assert work.removals.note_deleted(of_retired, older_than_s=100) == 3
        assert work.removals.note_deleted(others, older_than_s=100) == 0
    assert {stone.namespace for stone in bench.tombstones(older_than_s=-1)} == {others[0].namespace}


def test_what_was_never_deleted_is_not_held_up_by_what_waits(bench: Bench) -> None:
    to_delete(bench)
    with bench.store.for_all("test") as work:
        for _ in range(3):
            [stone] = work.removals.tombstones(older_than_s=100, limit=1)
            assert work.removals.note_deleted([stone], older_than_s=100) == 0
        assert work.removals.tombstones(older_than_s=100, limit=1) == []


def test_old_tombstones_come_first_and_not_too_many(bench: Bench) -> None:
    old = to_delete(bench)
    bench.pass_time(10)
    to_delete(bench)
    stones = bench.work.removals.tombstones(older_than_s=0, limit=3)
    assert [stone.namespace for stone in stones] == [old.generation.namespace] * 3


def retired(bench: Bench, *, older_than_s: float, limit: int = 9) -> list[int]:
    found = bench.work.removals.retired(older_than_s=older_than_s, limit=limit)
    return [each.generation_id for each in found]


def test_a_retired_generation_waits_for_its_nodes_and_its_time(bench: Bench) -> None:
    _, index = bench.indexed({"a": TEXT})
    bench.work.indexes.retire(index.id)
    bench.pass_time(100)
    assert retired(bench, older_than_s=50) == []
    assert bench.work.removals.remove_retired_nodes(limit=9) == 1
    assert bench.work.removals.remove_retired_nodes(limit=9) == 0
    assert retired(bench, older_than_s=150) == []
    assert retired(bench, older_than_s=50) == [index.generation.id]
    assert retired(bench, older_than_s=50, limit=0) == []


def test_a_forgotten_generation_takes_its_tombstones_along(bench: Bench) -> None:
    index = to_delete(bench)
    to_delete(bench)
    bench.work.indexes.retire(index.id)
    bench.work.removals.purge_generation(index.generation.id)
    bench.work.removals.purge_generation(index.generation.id)
    assert len(bench.tombstones()) == 3
    assert index.generation.namespace not in {stone.namespace for stone in bench.tombstones()}
    assert retired(bench, older_than_s=-1) == []
