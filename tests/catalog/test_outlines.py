"""Contract of ``LargeStrings``, and of ``Tables`` the pages and pieces."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_search.core.documents import parse_exact
from context_search.core.json_pointer import split
from context_search.core.json_text import to_json
from context_search.core.model import Index, Scope
from context_search.core.progress import NodeState
from context_search.indexing.rules.large_strings import LargeString, StringPage, StringPlace
from tests.builders import english
from tests.contract.store.bench import OTHER, TEXT, Bench
from tests.profile import examples

TEXTS = st.text(
    st.sampled_from('a"\\/~é林😀') | st.characters(codec="utf-8", exclude_characters="\0")
)
SCALARS = st.none() | st.booleans() | st.integers() | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)
)


def places(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    yield path, value
    items: list[tuple[str, object]] = []
    if isinstance(value, dict):
        items = [*value.items()]
    elif isinstance(value, list):
        items = [(str(number), each) for number, each in enumerate(value)]
    for key, inner in items:
        yield from places(inner, (*path, key))


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=VALUES)
def test_children_and_windows_are_those_of_the_document(bench: Bench, document: object) -> None:
    table = bench.table(document)
    with bench.store.for_all("test") as work:
        for path, value in places(document):
            found = work.tables.children(table.id, path, after=0, limit=9, most_chars=10_000)
            window = work.tables.window(table.id, path, start=1, length=3)
            assert found is not None
            assert window is not None
            below = value if isinstance(value, dict | list) else {}
            keys = below if isinstance(below, dict) else map(str, range(len(below)))
            assert {child.key for child in found.children} == {*keys}
            assert [child.position for child in found.children] == [*range(len(below))]
            assert found.next_after is None
            if isinstance(value, str):
                assert (window.text, window.total) == (value[1:4], len(value))
                assert window.content_hash == hashlib.sha256(value.encode()).hexdigest()
            else:
                assert window.text is None


def test_a_number_is_shown_as_it_is_kept(bench: Bench) -> None:
    table = bench.table(parse_exact("[1.10, 9223372036854775807, -0.5, 1e3]"))
    with bench.store.for_all("test") as work:
        found = work.tables.children(table.id, [], after=0, limit=9, most_chars=99)
    assert found is not None
    shown = [child.text or "" for child in found.children]
    assert shown[:3] == ["1.10", "9223372036854775807", "-0.5"]
    assert Decimal(shown[3]) == 1000
    assert [child.length for child in found.children] == [len(text) for text in shown]


@pytest.mark.parametrize(
    ("after", "limit", "key", "keys", "next_after"),
    [
        (0, 2, None, ["a", "b"], 2),
        (2, 2, None, ["ab", "abc"], None),
        (4, 2, None, [], None),
        (0, 1, "B", ["b"], 2),
        (2, 1, "B", ["ab"], 3),
        (0, 9, "x", [], None),
    ],
)
def test_a_page_of_members_says_where_to_go_on(
    bench: Bench, after: int, limit: int, key: str | None, keys: list[str], next_after: int | None
) -> None:
    table = bench.table({"abc": 1, "ab": 2, "b": 3, "a": 4})
    with bench.store.for_all("test") as work:
        page = work.tables.children(
            table.id, [], after=after, limit=limit, most_chars=99, part_of_key=key
        )
    assert page is not None
    assert ([child.key for child in page.children], page.next_after) == (keys, next_after)
    assert (page.kind, page.length) == ("object", 4)


@pytest.mark.parametrize(
    ("after", "most_chars", "keys", "next_after"),
    [
        (0, 4, ["a", "bb"], 2),
        (0, 6, ["a", "bb", "林林林"], 3),
        (2, 2, ["林林林"], 3),
        (3, 0, ["cccc" * 9], None),
    ],
)
def test_a_page_of_long_keys_is_short(
    bench: Bench, after: int, most_chars: int, keys: list[str], next_after: int | None
) -> None:
    table = bench.table({"a": 1, "bb": 2, "林林林": 3, "cccc" * 9: 4})
    with bench.store.for_all("test") as work:
        page = work.tables.children(
            table.id, [], after=after, limit=9, most_chars=most_chars, part_of_key=None
        )
    assert page is not None
    assert ([child.key for child in page.children], page.next_after) == (keys, next_after)


def test_a_child_that_is_an_object_has_a_title(bench: Bench) -> None:
    children = {
        "title": {"title": "Storm", "name": "other"},
        "name": {"name": "🐡" * 200, "title": 7},
        "empty": {"title": "", "name": "n"},
        "none": {"title": None, "name": {"title": "inner"}},
        "list": ["title", "name"],
        "text": "title",
        "number": 1,
    }
    table = bench.table(children)
    with bench.store.for_project(table.project_id) as work:
        page = work.tables.children(table.id, [], after=0, limit=9, most_chars=99)
    assert page is not None
    titles = {child.key: child.title for child in page.children}
    named = {"title": "Storm", "name": "🐡" * 120, "empty": "n"}
    assert titles == {**dict.fromkeys(children), **named}


def test_beginnings_are_those_of_strings_at_exactly_these_pointers(bench: Bench) -> None:
    document = {
        "a": ["x", {"": "🐡 empty", "t": TEXT}],
        "a/b~c": {"-1": "key"},
        "n": 1,
        "none": None,
    }
    table = bench.table(document)
    there = {"/a/0": "x", "/a/1/": "🐡 em", "/a/1/t": TEXT[:4], "/a~1b~0c/-1": "key"}
    nowhere = ["", "/a", "/a/1", "/a/-1", "/a/-2", "/a/00", "/a/2", "/a/0/x", "/n", "/none", "/b"]
    with bench.store.for_project(table.project_id) as work:
        found = work.tables.beginnings(table.id, [*there, *nowhere], chars=4)
        nothing = work.tables.beginnings(table.id, [], chars=4)
    assert found is not None
    assert nothing is not None
    assert (found.table_name, found.texts) == ("t", {at: text[:4] for at, text in there.items()})
    assert (nothing.table_name, nothing.texts) == ("t", {})
    [whole] = [bench.table("a document that is one string", bench.project())]
    bench.delete(table)
    with bench.store.for_all("test") as work:
        assert work.tables.beginnings(table.id, ["/a/0"], chars=4) is None
        alone = work.tables.beginnings(whole.id, ["", "/title"], chars=10)
    assert alone is not None
    assert alone.texts == {"": "a document"}


def test_a_path_that_leads_nowhere_has_neither(bench: Bench) -> None:
    table = bench.table({"a": ["x"]})
    with bench.store.for_all("test") as work:
        for path in (["b"], ["a", "1"], ["a", "00"], ["a", "-1"], ["a", "0", "0"]):
            assert work.tables.children(table.id, path, after=0, limit=9, most_chars=99) is None
            assert work.tables.window(table.id, path, start=0, length=9) is None


def test_tables_come_in_pages_and_by_a_part_of_their_name(bench: Bench) -> None:
    owner = bench.project()
    bench.table({})
    with bench.store.for_all("test") as work:
        names = ["Nine", "ten", "NINE comets", "other"]
        made = [work.tables.add(owner.id, name, None, to_json({})).id for name in names]
        first = work.tables.page(owner.id, after=0, limit=3, among=9)
        rest = work.tables.page(owner.id, after=made[2], limit=3, among=9)
        named = work.tables.page(owner.id, after=0, limit=9, among=9, part_of_name="nine")
        few = work.tables.page(owner.id, after=0, limit=9, among=2, part_of_name="nine")
        none = work.tables.page(owner.id, after=0, limit=9, among=9, part_of_name="n%")
    assert ([each.table.id for each in first.rows], first.next_after) == (made[:3], made[2])
    assert ([each.table.id for each in rest.rows], rest.next_after) == (made[3:], None)
    assert [each.table.id for each in named.rows] == [made[0], made[2]]
    assert ([each.table.id for each in few.rows], few.next_after) == ([made[0]], made[1])
    assert (none.rows, none.next_after) == ([], None)


def test_a_listed_table_names_the_indexes_that_serve_its_tools(bench: Bench) -> None:
    table = bench.table({"a": TEXT})
    tool, index = bench.tool(table)
    with bench.store.for_all("test") as work:
        [listed] = work.tables.page(table.project_id, after=0, limit=9, among=9).rows
        work.tools.mark_deleted(tool.id)
        [without] = work.tables.page(table.project_id, after=0, limit=9, among=9).rows
    assert (listed.tools_count, [*listed.index_ids]) == (1, [index.id])
    assert (without.tools_count, [*without.index_ids]) == (0, [])


def page(
    bench: Bench,
    index: Index,
    scope: str = "",
    *,
    state: NodeState | None = None,
    after: StringPlace | None = None,
    limit: int = 9,
    among: int = 9,
) -> StringPage:
    assert index.table_id is not None
    with bench.store.for_all("test") as work:
        return work.large_strings.page(
            index,
            Scope(index.table_id, scope),
            state=state,
            after=after,
            limit=limit,
            among=among,
        )


def pointers(rows: StringPage) -> list[str]:
    return [row.progress.json_pointer for row in rows.rows]


def test_strings_come_by_pointer_and_state(bench: Bench) -> None:
    table = bench.table({"b": [TEXT, OTHER], "a": TEXT, "bc": OTHER})
    _, index = bench.tool(table)
    node_ids = bench.enumerate(index)
    for node_id in node_ids[:2]:
        bench.finish(node_id)
    whole = page(bench, index)
    assert pointers(whole) == ["/a", "/b/0", "/b/1", "/bc"]
    assert pointers(page(bench, index, "/b")) == ["/b/0", "/b/1"]
    done = [row.progress.json_pointer for row in whole.rows if row.progress.state == "indexed"]
    assert pointers(page(bench, index, state="indexed")) == done
    assert len(pointers(page(bench, index, state="queued"))) == 2
    first = page(bench, index, limit=3)
    assert first.next_after == StringPlace.of(first.rows[-1])
    assert pointers(page(bench, index, after=first.next_after)) == ["/bc"]
    looked = page(bench, index, state="indexed", among=1)
    assert looked.next_after == StringPlace(table.id, "/a", whole.rows[0].id)


def page_of_all(
    bench: Bench,
    index: Index,
    state: NodeState | None = None,
    *,
    after: StringPlace | None = None,
    limit: int = 9,
    among: int = 9,
) -> StringPage:
    with bench.store.for_project(index.project_id) as work:
        return work.large_strings.page(
            index, None, state=state, after=after, limit=limit, among=among
        )


def at(found: StringPage) -> list[tuple[int, str]]:
    return [(row.table_id, row.progress.json_pointer) for row in found.rows]


def test_strings_of_all_tables_come_table_by_table(bench: Bench) -> None:
    project = bench.project()
    one, gone, other = (bench.table({"b": TEXT, "a": OTHER}, project) for _ in range(3))
    index = bench.project_index(project.id)
    nodes = {table.id: bench.compare(index, table) for table in (other, gone, one)}
    bench.finish(nodes[one.id][0])
    bench.delete(gone)
    whole = page_of_all(bench, index)
    wanted = [(table.id, pointer) for table in (one, other) for pointer in ("/a", "/b")]
    assert (at(whole), whole.next_after) == (wanted, None)
    queued = page_of_all(bench, index, "queued")
    assert at(queued) == [
        (row.table_id, row.progress.json_pointer)
        for row in whole.rows
        if row.progress.state == "queued"
    ]
    assert len(at(page_of_all(bench, index, "indexed"))) == 1
    assert at(page_of_all(bench, index, "quarantined")) == []
    walked, pages = list[tuple[int, str]](), 0
    after: StringPlace | None = None
    while pages == 0 or after is not None:
        found = page_of_all(bench, index, after=after, limit=1)
        walked, after, pages = walked + at(found), found.next_after, pages + 1
    assert walked == wanted
    first = page_of_all(bench, index, "indexed", among=1)
    assert first.next_after == StringPlace.of(whole.rows[0])
    stranger = bench.project_index(bench.project().id)
    assert at(page_of_all(bench, stranger)) == []


def test_counts_below_places_go_as_far_as_they_are_wanted(bench: Bench) -> None:
    table = bench.table({"a": [TEXT] * 3, "ab": OTHER, "a/b": OTHER})
    _, index = bench.tool(table)
    bench.enumerate(index)
    with bench.store.for_all("test") as work:
        counted = work.large_strings.below(
            index, table.id, ["", "/a", "/a/1", "/ab", "/a~1b", "/x"], most=4
        )
        few = work.large_strings.below(index, table.id, ["", "/a"], most=2)
    assert [each.large for each in counted] == [4, 3, 1, 1, 1, 0]
    assert {each.problems for each in counted} == {0}
    assert [each.large for each in few] == [2, 2]


def find(bench: Bench, index: Index, pointer: str) -> LargeString:
    assert index.table_id is not None
    with bench.store.for_all("test") as work:
        return work.large_strings.at(index, index.table_id, [pointer, "/none"])[pointer]


def test_chunks_are_those_of_the_set_that_answers(bench: Bench) -> None:
    text = english(900)
    _, index = bench.tool(bench.table({"a": text}))
    [node_id] = bench.enumerate(index)
    before = find(bench, index, "/a")
    assert (before.set_id, before.chunks_hash, before.is_active) == (None, None, False)
    bench.finish(node_id)
    string = find(bench, index, "/a")
    assert string.is_active
    assert string.chunks_hash == string.content_hash == hashlib.sha256(text.encode()).hexdigest()
    assert split(string.progress.json_pointer) == ["a"]
    count = string.progress.chunks_count or 0
    assert string.set_id is not None
    with bench.store.for_all("test") as work:
        spans = work.large_strings.spans(string.set_id, first=0, limit=99)
        for char in range(0, 901, 7):
            first = work.large_strings.first_behind(string.set_id, count, char)
            assert first == next((span.index for span in spans if span.end > char), count)
        assert work.large_strings.spans(string.set_id, first=2, limit=2) == spans[2:4]
    assert (len(spans), spans[0].start, spans[-1].end) == (count, 0, 900)
    assert all(span.is_present and span.windows == 1 for span in spans)
