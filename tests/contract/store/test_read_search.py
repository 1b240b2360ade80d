"""Contract of ``LiveChunks.read_search``: it reads what ``read_target`` and ``hydrate`` do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_search.core.config import RankingChange
from context_search.core.model import HydratedChunk, Reach
from context_search.ranking.search import Target
from context_search.searching.rules.searched import Searched, SearchedProject, SearchedTool
from tests.contract.store.bench import TEXT, Bench

Read = tuple[Target | None, dict[str, HydratedChunk]]


def at_once(bench: Bench, searched: Searched, target: Target, *, texts: bool = True) -> Read:
    """What a search reads in the end, with a permit that goes back then."""
    ids = bench.ids(target.index)
    holder = bench.work.permits.take("a", size=1, count=1, lease_s=60)
    assert holder is not None
    with bench.store.for_project(target.index.project_id) as work:
        work.permits.give_back("a", holder)
        read = work.live_chunks.read_search(searched, target, ids, texts=texts, silent_s=60)
    taken = bench.work.permits.take("a", size=1, count=1, lease_s=60)
    assert taken is not None
    bench.work.permits.give_back("a", taken)
    return read


def in_steps(bench: Bench, searched: Searched, target: Target, *, texts: bool = True) -> Read:
    ids = bench.ids(target.index)
    with bench.store.for_project(target.index.project_id) as work:
        now = work.live_chunks.read_target(searched, silent_s=60)
        return now, work.live_chunks.hydrate(target.index, target.reach, ids, texts=texts)


def read_target(bench: Bench, searched: SearchedTool) -> Target:
    target = bench.work.live_chunks.read_target(searched, silent_s=60)
    assert target is not None
    return target


@pytest.mark.parametrize("texts", [True, False])
def test_a_search_reads_its_target_and_chunks_at_once(bench: Bench, *, texts: bool) -> None:
    tool, index = bench.indexed({"a": TEXT})
    searched = SearchedTool(tool.id, tool.project_id)
    target = read_target(bench, searched)
    now, chunks = at_once(bench, searched, target, texts=texts)
    assert now == target == Target(index, Reach(), tool.search, "ready", 0)
    assert len(chunks) == 3
    assert (now, chunks) == in_steps(bench, searched, target, texts=texts)


def test_an_index_that_moves_is_not_taken_for_one_at_rest(bench: Bench) -> None:
    tool, _ = bench.indexed({"a": TEXT})
    searched = SearchedTool(tool.id, tool.project_id)
    target = read_target(bench, searched)
    table = bench.work.tables.find(tool.scope.table_id, project_id=tool.project_id)
    assert table is not None
    bench.change(table, {"a": TEXT, "b": TEXT[::-1]})
    now, chunks = at_once(bench, searched, target)
    assert now is not None
    assert now.status == "indexing"
    assert (now, chunks) == in_steps(bench, searched, target)


def test_a_target_that_was_moved_meanwhile_is_read_as_it_is_now(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT})
    searched = SearchedTool(tool.id, tool.project_id)
    now = read_target(bench, searched)
    former = [
        replace(now, reach=Reach("/b")),
        replace(now, index=replace(index, generation=replace(index.generation, id=-1))),
    ]
    for target in former:
        assert at_once(bench, searched, target) == (now, {})


def test_a_draft_ranks_what_is_read(bench: Bench) -> None:
    tool, _ = bench.indexed({"a": TEXT})
    searched = SearchedTool(tool.id, tool.project_id)
    target = read_target(bench, searched)
    draft = replace(searched, draft=RankingChange((("strategy", "keyword"),)))
    now, _ = at_once(bench, draft, target)
    assert now == read_target(bench, draft)
    assert now is not None
    assert now.search.strategy == "keyword"


def test_a_tool_or_an_index_that_is_gone_has_nothing_to_read(bench: Bench) -> None:
    tool, _ = bench.indexed({"a": TEXT})
    target = read_target(bench, SearchedTool(tool.id, tool.project_id))
    gone: list[Searched] = [
        SearchedTool(tool.id + 1, tool.project_id),
        SearchedTool(tool.id, tool.project_id + 1),
        SearchedProject(tool.project_id),
    ]
    for searched in gone:
        assert at_once(bench, searched, target)[0] is None
        assert in_steps(bench, searched, target)[0] is None
