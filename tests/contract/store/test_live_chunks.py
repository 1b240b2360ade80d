"""What a search may show, and what a retrieval reads around it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_search.catalog.rules.settings import StoredSettings
from context_search.core.config import RankingChange
from context_search.core.documents import content_hash
from context_search.core.model import HydratedChunk, Index, Reach, SearchTool
from context_search.ranking.search import Target
from context_search.searching.rules.retrieval import ChunkText, RetrievalSettings
from context_search.searching.rules.searched import Searched, SearchedProject, SearchedTool
from tests.builders import english, present
from tests.contract.store.bench import OTHER, TEXT, Bench
from tests.steps import SMALL, table_of


def hydrated(bench: Bench, tool: SearchTool, index: Index, ids: list[str]) -> list[HydratedChunk]:
    """What the tool may show of these documents, by chunk index."""
    found = bench.work.live_chunks.hydrate(index, Reach(tool.scope.json_pointer), ids)
    assert all(doc_id == chunk.turbopuffer_doc_id for doc_id, chunk in found.items())
    return sorted(found.values(), key=lambda chunk: (chunk.json_pointer, chunk.chunk_index))


def test_a_hit_is_its_chunk(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT})
    ids = bench.ids(index)
    found = hydrated(bench, tool, index, [*ids, "unknown"])
    assert [chunk.chunk_index for chunk in found] == [0, 1, 2]
    for chunk in found:
        assert chunk.chunk_text == TEXT[chunk.char_start : chunk.char_end]
        assert (chunk.table_id, chunk.json_pointer) == (index.table_id, "/a")
        assert (chunk.total_chunks, chunk.content_hash) == (3, content_hash(TEXT))
        assert chunk.turbopuffer_namespace == index.generation.namespace
        assert not chunk.stale
    assert (found[0].char_start, found[-1].char_end) == (0, len(TEXT))


def test_nothing_is_asked_and_nothing_found(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT})
    assert hydrated(bench, tool, index, []) == []


def test_only_what_is_in_the_scope_is_shown(bench: Bench) -> None:
    document = {"a": {"b": TEXT}, "ab": TEXT, "a/b": TEXT, "": TEXT, "a%": TEXT}
    _, index = bench.indexed(document)
    table = present(bench.work.tables.find(table_of(index), project_id=index.project_id))
    for scope, pointers in {
        "": {"/a/b", "/ab", "/a~1b", "/", "/a%"},
        "/a": {"/a/b"},
        "/a/b": {"/a/b"},
        "/a~1b": {"/a~1b"},
        "/": {"/"},
        "/a%": {"/a%"},
        "/_": set[str](),
        "/b": set[str](),
    }.items():
        tool, _ = bench.tool(table, scope)
        found = hydrated(bench, tool, index, bench.ids(index))
        assert {chunk.json_pointer for chunk in found} == pointers


def test_what_is_being_built_is_not_shown(bench: Bench) -> None:
    tool, index = bench.tool(bench.table({"a": TEXT}))
    [node_id] = bench.enumerate(index)
    chunk_set = bench.begin(bench.claim(node_id))
    bench.mark(chunk_set)
    ids = [chunk.doc_id for chunk in chunk_set.chunks]
    assert hydrated(bench, tool, bench.index(index.id), ids) == []


def test_an_old_version_is_shown_as_stale_until_the_swap(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT})
    bench.work.tables.replace(table_of(index), f'{{"a": "{"x" * 30}"}}', expected_revision=None)
    ids = bench.ids(index)
    assert [chunk.stale for chunk in hydrated(bench, tool, index, ids)] == [True] * 3
    bench.enumerate(index)
    assert [chunk.stale for chunk in hydrated(bench, tool, index, ids)] == [True] * 3
    bench.finish(bench.node_at(index, "/a"))
    assert hydrated(bench, tool, index, ids) == []
    assert [chunk.stale for chunk in hydrated(bench, tool, index, bench.ids(index))] == [False]


def test_a_hit_has_a_revision_at_which_its_text_stood(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT, "b": OTHER})
    table = present(bench.work.tables.find(table_of(index), project_id=index.project_id))
    first, ids = table.revision, bench.ids(index)
    changed = bench.change(table, {"a": TEXT, "b": "x" * 30}).revision
    found = hydrated(bench, tool, index, ids)
    assert {(chunk.json_pointer, chunk.stale, chunk.revision) for chunk in found} == {
        ("/a", False, changed),
        ("/b", True, first),
    }
    bench.compare(index, table)
    compared = hydrated(bench, tool, index, ids)
    assert {(chunk.json_pointer, chunk.stale, chunk.revision) for chunk in compared} == {
        ("/a", False, changed),
        ("/b", True, 0),
    }
    assert {chunk.cite.is_of(chunk.chunk_text) for chunk in compared} == {True}


def test_a_change_elsewhere_makes_nothing_stale(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT, "b": 1})
    text = bench.work.tables.read(table_of(index))[1].replace("1", "2")
    bench.work.tables.replace(table_of(index), text, expected_revision=None)
    found = hydrated(bench, tool, index, bench.ids(index))
    assert [chunk.stale for chunk in found] == [False] * 3


@pytest.mark.parametrize(
    "gone",
    [
        {},
        {"a": None},
        {"a": 5},
        {"a": {"b": TEXT}},
        {"a": [TEXT]},
        [TEXT],
        "text",
        {"A": TEXT},
        None,
    ],
)
def test_a_removed_pointer_vanishes_before_anything_is_compared(bench: Bench, gone: object) -> None:
    table = bench.table({"a": TEXT})
    tool, index = bench.tool(table)
    bench.finish_all(index)
    bench.change(table, gone)
    assert hydrated(bench, tool, bench.index(index.id), bench.ids(index)) == []


@pytest.mark.parametrize("key", ["-1", "00", "+0", " 0", "0 ", "0x0", "٠", "1e0", "0_0"])
def test_a_key_that_looks_like_a_number_is_no_place_in_an_array(bench: Bench, key: str) -> None:
    table = bench.table({"a": {key: TEXT}})
    tool, index = bench.tool(table)
    bench.finish_all(index)
    bench.change(table, {"a": [TEXT]})
    assert hydrated(bench, tool, bench.index(index.id), bench.ids(index)) == []


def test_a_key_and_a_place_of_the_same_name_are_the_same_pointer(bench: Bench) -> None:
    table = bench.table({"a": {"0": TEXT}})
    tool, index = bench.tool(table)
    bench.finish_all(index)
    bench.change(table, {"a": [TEXT]})
    found = hydrated(bench, tool, bench.index(index.id), bench.ids(index))
    assert [chunk.stale for chunk in found] == [False] * 3


def test_a_deleted_table_shows_nothing(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT})
    ids = bench.ids(index)
    bench.work.tables.mark_deleted(table_of(index))
    assert hydrated(bench, tool, index, ids) == []


def test_generations_do_not_show_each_others_chunks(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT})
    building = bench.work.indexes.start_rebuild(index, SMALL, at_once=2)
    bench.finish_all(index)
    own, foreign = bench.ids(index), bench.ids(building)
    assert len(hydrated(bench, tool, index, own + foreign)) == 3
    assert len(hydrated(bench, tool, building, own + foreign)) == 3
    assert hydrated(bench, tool, index, foreign) == []


def test_recency_counts_from_the_last_change_of_the_text(bench: Bench) -> None:
    table = bench.table({"a": TEXT, "b": OTHER})
    tool, index = bench.tool(table)
    bench.finish_all(index)
    bench.pass_time(1000)
    bench.change(table, {"a": TEXT, "b": OTHER + OTHER})
    bench.enumerate(index)
    bench.finish(bench.node_at(index, "/b"))
    found = hydrated(bench, tool, bench.index(index.id), bench.ids(index))
    changed = {chunk.json_pointer: chunk.changed_at for chunk in found}
    assert 990 < (changed["/b"] - changed["/a"]).total_seconds() < 1100


def test_what_few_chunks_are_looked_at_for_can_be_read_later(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT})
    ids = bench.ids(index)
    whole = {chunk.turbopuffer_doc_id: chunk for chunk in hydrated(bench, tool, index, ids)}
    with bench.store.for_all("test") as work:
        bare = work.live_chunks.hydrate(index, Reach(), [*ids, "unknown"], texts=False)
        some = [bare[name] for name in ids[1:]]
        completed = work.live_chunks.completed(index, some)
        elsewhere = replace(index, generation=replace(index.generation, namespace="another"))
        assert work.live_chunks.completed(index, []) == {}
        assert work.live_chunks.completed(elsewhere, some) == {}
        of_another_text = [chunk._replace(content_hash="another") for chunk in some]
        assert work.live_chunks.completed(index, of_another_text) == {}
    assert completed == {name: whole[name] for name in ids[1:]}
    assert bare == {
        name: chunk._replace(id=0, total_chunks=0, chunk_text="", char_start=0, char_end=0)
        for name, chunk in whole.items()
    }


def test_every_character_comes_back_as_it_was(bench: Bench) -> None:
    text = 'a "quoted" \\n, {braces}\t\x01\x1f\x7f\u2028 \U0001f600 e\u0301 索引 \ufeff\uffff ' * 3
    key = 'k"e\\y\n{1,2}\U0001f600/~'
    tool, index = bench.indexed({key: text})
    found = hydrated(bench, tool, index, bench.ids(index))
    assert found
    assert {chunk.json_pointer for chunk in found} == {'/k"e\\y\n{1,2}\U0001f600~1~0'}
    assert all(chunk.chunk_text == text[chunk.char_start : chunk.char_end] for chunk in found)
    assert not any(chunk.stale for chunk in found)


Read = tuple[Target | None, dict[str, HydratedChunk]]


def at_once(bench: Bench, searched: Searched, target: Target, *, texts: bool = True) -> Read:
    """What a search reads in the end, with a permit that goes back then."""
    ids = bench.ids(target.index)
    holder = present(bench.work.permits.take("a", size=1, count=1, lease_s=60))
    with bench.store.for_project(target.index.project_id) as work:
        work.permits.give_back("a", holder)
        read = work.live_chunks.read_search(
            searched, target, ids, work.node_counts, texts=texts, silent_s=60
        )
    taken = present(bench.work.permits.take("a", size=1, count=1, lease_s=60))
    bench.work.permits.give_back("a", taken)
    return read


def in_steps(bench: Bench, searched: Searched, target: Target, *, texts: bool = True) -> Read:
    ids = bench.ids(target.index)
    with bench.store.for_project(target.index.project_id) as work:
        now = work.live_chunks.read_target(searched, work.node_counts, silent_s=60)
        return now, work.live_chunks.hydrate(target.index, target.reach, ids, texts=texts)


def read_target(bench: Bench, searched: SearchedTool) -> Target:
    with bench.store.for_all("test") as work:
        return present(work.live_chunks.read_target(searched, work.node_counts, silent_s=60))


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
    table = present(bench.work.tables.find(tool.scope.table_id, project_id=tool.project_id))
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


LONG = english(900)
CONTENTS = {content_hash(text) for text in (LONG, TEXT, OTHER)}
DEFAULTS = StoredSettings(0, RetrievalSettings())


def around(bench: Bench, ids: list[int], reach: int) -> list[ChunkText]:
    return bench.work.live_chunks.around(ids, contents=CONTENTS, reach=reach)


def chunk_ids(bench: Bench, node: int) -> list[int]:
    """Indexes a node; the ids of its chunks by index."""
    return [chunk.id for chunk in bench.finish(node).chunks]


def long_node(bench: Bench) -> list[int]:
    """The chunks of a long text, beside another text."""
    _, index = bench.tool(bench.table({"a": LONG, "b": OTHER}))
    bench.enumerate(index)
    bench.finish(bench.node_at(index, "/b"))
    return chunk_ids(bench, bench.node_at(index, "/a"))


@pytest.mark.parametrize(
    ("hits", "reach", "expected"),
    [
        ([4], 0, [4]),
        ([4], 1, [3, 4, 5]),
        ([0], 2, [0, 1, 2]),
        ([1, 2], 1, [0, 1, 2, 3]),
        ([6, 2], 1, [1, 2, 3, 5, 6, 7]),
        ([4], 10**6, None),
        ([], 3, []),
    ],
)
def test_chunks_come_with_those_beside_them(
    bench: Bench, hits: list[int], reach: int, expected: list[int] | None
) -> None:
    ids = long_node(bench)
    found = around(bench, [ids[hit] for hit in hits], reach)
    assert [chunk.id for chunk in found] == [
        ids[i] for i in (range(len(ids)) if expected is None else expected)
    ]
    assert [chunk.text for chunk in found] == [LONG[chunk.start : chunk.end] for chunk in found]
    assert [ids[chunk.index] for chunk in found] == [chunk.id for chunk in found]
    assert len({chunk.set_id for chunk in found}) <= 1


def test_chunks_of_several_texts_come_one_text_after_the_other(bench: Bench) -> None:
    _, index = bench.tool(bench.table({"a": TEXT, "b": OTHER}))
    bench.enumerate(index)
    both = [chunk_ids(bench, bench.node_at(index, pointer)) for pointer in ("/a", "/b")]
    found = around(bench, [both[1][0], both[0][0]], 1)
    assert [chunk.index for chunk in found] == [0, 1, 0, 1]
    assert len({chunk.set_id for chunk in found}) == 2


def test_a_text_that_was_replaced_has_nothing_around(bench: Bench) -> None:
    table, index = bench.served({"a": TEXT})
    bench.enumerate(index)
    old = chunk_ids(bench, bench.node_at(index, "/a"))
    bench.change(table, {"a": LONG})
    bench.enumerate(index)
    building = bench.begin(bench.claim(bench.node_at(index, "/a")))
    assert len(around(bench, old, 0)) == len(old)
    assert building.missing
    assert around(bench, [chunk.id for chunk in building.missing], 9) == []
    bench.mark(building)
    assert len(around(bench, old, 0)) == len(old)


def test_unknown_chunks_have_nothing_around(bench: Bench) -> None:
    assert around(bench, [10**15], 3) == []


def test_a_project_without_settings_has_the_defaults(bench: Bench) -> None:
    project = bench.project()
    projects = bench.work.projects
    for ask in (projects.settings, projects.lock_settings, projects.settings):
        assert ask(RetrievalSettings, project.id) == DEFAULTS


def test_settings_are_read_as_they_were_written_and_each_write_is_a_version(bench: Bench) -> None:
    project, other = bench.project(), bench.project()
    first = RetrievalSettings(3, 0.25, 100, 0, redaction=False, kinds=("email",))
    second = RetrievalSettings(kinds=())
    for version, settings in enumerate([first, second], start=1):
        with bench.store.for_all("test") as work:
            work.projects.lock_settings(RetrievalSettings, project.id)
            written = work.projects.write_settings(project.id, settings)
        assert written == StoredSettings(version, settings)
        assert bench.work.projects.settings(RetrievalSettings, project.id) == written
        assert bench.work.projects.settings(RetrievalSettings, other.id).version == 0
