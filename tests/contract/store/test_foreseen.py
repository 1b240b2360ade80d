"""Contract of ``UnitOfWork.foresee``: whatever was foreseen, what is read is the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_search.core.model import HydratedChunk, Index, Reach, SearchTool
from context_search.core.progress import IndexStatus
from context_search.searching.rules.live_chunks import Reading
from tests.contract.store.bench import TEXT, Bench

Read = tuple[
    tuple[SearchTool, Index] | Index | None, IndexStatus, dict[str, HydratedChunk], str | None
]


def read(bench: Bench, wanted: Reading, foreseen: Reading | None = None) -> Read:
    """What a search reads in the end, and a permit that it had until then."""
    index, project_id = wanted.index, wanted.index.project_id
    with bench.store.for_all("test") as work:
        holder = work.permits.take("a", size=1, count=1, lease_s=60)
    with bench.store.for_project(project_id) as work:
        if holder is not None:
            work.permits.give_back("a", holder)
        if foreseen is not None:
            work.foresee(foreseen)
        searched = (
            work.indexes.of_project(project_id)
            if wanted.tool_id is None
            else work.tools.find_with_index(wanted.tool_id, project_id=wanted.project_id)
        )
        status = work.node_counts.state(index, "", silent_s=60).status
        chunks = work.live_chunks.hydrate(index, wanted.reach, wanted.doc_ids, texts=wanted.texts)
    with bench.store.for_all("test") as work:
        taken = work.permits.take("a", size=1, count=1, lease_s=60)
        assert taken is not None
    with bench.store.for_all("test") as work:
        work.permits.give_back("a", taken)
    return searched, status, chunks, holder and "had a permit"


@pytest.mark.parametrize("texts", [True, False])
def test_what_was_foreseen_is_read(bench: Bench, *, texts: bool) -> None:
    tool, index = bench.indexed({"a": TEXT})
    reading = Reading(tool.id, tool.project_id, index, Reach(), bench.ids(index), texts)
    searched, status, chunks, held = read(bench, reading, reading)
    assert (status, len(chunks), held) == ("ready", 3, "had a permit")
    assert isinstance(searched, tuple)
    assert searched[0] == tool
    assert read(bench, reading) == (searched, status, chunks, held)


def test_what_was_not_foreseen_is_read_as_well(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT})
    ids = bench.ids(index)
    reading = Reading(tool.id, tool.project_id, index, Reach(), ids, texts=True)
    others = [
        replace(reading, tool_id=tool.id + 1),
        replace(reading, tool_id=None),
        replace(reading, reach=Reach("/b")),
        replace(reading, doc_ids=ids[:1]),
        replace(reading, texts=False),
        replace(reading, index=replace(index, id=index.id + 1)),
        replace(reading, index=replace(index, generation=replace(index.generation, id=-1))),
    ]
    known = read(bench, reading)
    assert len(known[2]) == 3
    assert [read(bench, reading, other) for other in others] == [known] * len(others)


def test_a_reading_that_was_foreseen_is_read_once(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT})
    reading = Reading(tool.id, tool.project_id, index, Reach(), bench.ids(index), texts=True)
    with bench.store.for_project(tool.project_id) as work:
        work.foresee(reading)
        before = work.tools.find_with_index(tool.id, project_id=tool.project_id)
        work.tools.mark_deleted(tool.id)
        assert before is not None
        assert work.tools.find_with_index(tool.id, project_id=tool.project_id) is None


def test_an_index_that_moves_is_not_taken_for_one_at_rest(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT})
    with bench.store.for_all("test") as work:
        table = work.tables.find(tool.scope.table_id, project_id=tool.project_id)
    assert table is not None
    bench.change(table, {"a": TEXT, "b": TEXT[::-1]})
    reading = Reading(tool.id, tool.project_id, index, Reach(), bench.ids(index), texts=True)
    assert read(bench, reading, reading) == read(bench, reading)
    assert read(bench, reading, reading)[1] == "indexing"
