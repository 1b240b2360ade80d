"""Contract of ``LargeStrings``, and of ``Tables`` the pages and pieces."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_search.core.json_text import to_json
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
