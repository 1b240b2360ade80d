"""Contract of what agents are told of fields: bounded, of the tool's scope, nothing hidden."""

from __future__ import annotations

from decimal import Decimal

import pytest

from context_search.core.config import SearchConfig
from context_search.core.errors import DatabaseUnavailableError
from context_search.core.filters import NOTHING, Filter, parse_filter
from context_search.core.model import Index, SearchTool, Table
from context_search.searching.rules.searched import SeenFields
from tests.contract.store.bench import OTHER, TEXT, Bench, PostgresBench

PUBLIC = parse_filter({"status": {"eq": "public"}})
LETTERS = [
    {"status": "public", "year": 1901, "tags": ["a", "b"], "text": TEXT},
    {"status": "draft", "year": 1902, "secret": "s", "text": OTHER},
    {"status": "public", "year": Decimal("1903.5"), "text": TEXT[:100]},
]


def compared(
    bench: Bench, document: object, scope: str = "", where: Filter | None = None
) -> tuple[Table, Index, SearchTool]:
    """A tool that filters by status, year and tags, its index compared and nothing indexed."""
    table = bench.table(document)
    search = SearchConfig(filterable=("status", "year", "tags"), where=where)
    tool, index = bench.tool(table, scope, search=search)
    with bench.store.for_all("test") as work:
        work.indexes.name_fields(index.id, sorted({*search.fields, "secret"}))
    index = bench.index(index.id)
    bench.compare(index, table)
    return table, index, tool


def seen(bench: Bench, tool: SearchTool, *, most: int = 9, among: int = 99) -> SeenFields:
    with bench.store.for_project(tool.project_id) as work:
        return work.live_chunks.seen_fields(tool, most=most, among=among, timeout_s=9)


def years(found: SeenFields) -> set[object]:
    return {fields.get("year") for fields in found.of}


def test_the_filterable_fields_of_all_strings_are_seen(bench: Bench) -> None:
    *_, tool = compared(bench, LETTERS)
    found = seen(bench, tool)
    assert found.are_all
    assert sorted(found.of, key=repr) == sorted(
        [
            {"status": "public", "year": 1901, "tags": ("a", "b")},
            {"status": "draft", "year": 1902},
            {"status": "public", "year": Decimal("1903.5")},
        ],
        key=repr,
    )


def test_what_where_hides_is_never_seen(bench: Bench) -> None:
    table, index, tool = compared(bench, LETTERS, where=PUBLIC)
    found = seen(bench, tool)
    assert found.are_all
    assert years(found) == {1901, Decimal("1903.5")}
    bench.change(table, [{**LETTERS[0], "status": "draft"}, *LETTERS[1:]])
    assert seen(bench, tool) == SeenFields()  # nobody knows yet what is hidden now
    bench.compare(index, table)
    assert years(seen(bench, tool)) == {Decimal("1903.5")}


def test_a_field_that_only_where_names_is_not_shown(bench: Bench) -> None:
    *_, tool = compared(bench, LETTERS, where=parse_filter({"secret": {"exists": True}}))
    assert seen(bench, tool).of == ({"status": "draft", "year": 1902},)


def test_where_that_nobody_can_read_hides_all(bench: Bench) -> None:
    *_, tool = compared(bench, LETTERS, where=NOTHING)
    assert seen(bench, tool).of == ()


def test_without_where_a_changed_table_is_seen_as_it_was(bench: Bench) -> None:
    table, _, tool = compared(bench, LETTERS)
    bench.change(table, [])
    assert len(seen(bench, tool).of) == 3


def test_only_the_scope_of_the_tool_is_seen(bench: Bench) -> None:
    document = {"a": {"year": 1, "text": TEXT}, "ab": {"year": 2, "text": OTHER}, "year": 3}
    table, index, tool = compared(bench, {**document, "text": TEXT}, "/a")
    other, same = bench.tool(table, "", search=tool.search)
    assert same.id == index.id
    bench.compare(bench.index(index.id), table)
    assert years(seen(bench, tool)) == {1}
    assert seen(bench, tool).are_all
    assert years(seen(bench, other)) == {1, 2, 3}


@pytest.mark.parametrize(("most", "among"), [(2, 99), (99, 2)])
def test_the_look_is_bounded_and_sees_the_same_each_time(
    bench: Bench, most: int, among: int
) -> None:
    *_, tool = compared(bench, LETTERS)
    found = seen(bench, tool, most=most, among=among)
    assert len(found.of) == 2
    assert not found.are_all
    assert seen(bench, tool, most=most, among=among) == found


def test_the_order_is_the_same_in_every_store(bench: Bench) -> None:
    *_, tool = compared(bench, [{"year": n, "text": TEXT} for n in range(9)])
    assert [fields["year"] for fields in seen(bench, tool, most=3).of] == [8, 5, 6]


def test_nothing_is_seen_while_fields_are_not_known(bench: Bench) -> None:
    table = bench.table(LETTERS)
    tool, index = bench.tool(table, search=SearchConfig(filterable=("status",)))
    assert seen(bench, tool) == SeenFields()
    bench.compare(index, table)  # it names no fields yet
    assert seen(bench, tool) == SeenFields()
    with bench.store.for_all("test") as work:
        work.indexes.name_fields(index.id, ["status"])
    bench.compare(bench.index(index.id), table)
    assert len(seen(bench, tool).of) == 3


def test_very_long_fields_are_not_read(bench: Bench) -> None:
    long = [10**63 + n for n in range(64)]
    document = [*LETTERS, {"year": 1904, "tags": long, "text": TEXT}]
    *_, tool = compared(bench, document)
    found = seen(bench, tool)
    assert years(found) == {1901, 1902, Decimal("1903.5")}
    assert not found.are_all


def test_long_fields_of_other_tools_do_not_count(bench: Bench) -> None:
    long = [10**63 + n for n in range(64)]
    *_, tool = compared(bench, [{"year": 1904, "secret": long, "text": TEXT}])
    assert seen(bench, tool) == SeenFields(({"year": 1904},), are_all=True)


def test_a_look_ends_in_time(bench: Bench) -> None:
    if not isinstance(bench, PostgresBench):
        pytest.skip("only a database takes time")
    *_, tool = compared(bench, LETTERS)
    with bench.database.transaction() as tx:
        tx.run(
            """
            INSERT INTO node (generation_id, table_id, json_pointer, pointer_sha256, content_hash,
                              char_count, state, fields)
            SELECT generation_id, table_id, json_pointer || n,
                   sha256(CAST(CAST(node.id AS text) || '-' || n AS bytea)),
                   content_hash, char_count, state, fields
            FROM node, generate_series(1, 10000) AS n
            """
        )
    with (
        pytest.raises(DatabaseUnavailableError),
        bench.store.for_project(tool.project_id) as work,
    ):
        work.live_chunks.seen_fields(tool, most=30_000, among=30_000, timeout_s=0.001)
    assert len(seen(bench, tool, most=1_000, among=20_000).of) == 1_000
