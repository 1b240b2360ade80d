"""Contract of fields: which an index keeps, when they are noted, and what filters let through."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from context_search.core.errors import DatabaseUnavailableError
from context_search.core.filters import NOTHING, parse_filter
from context_search.core.model import Index, KnownNode, Reach, Table
from context_search.indexing.vector_rows import chunk_tokens
from context_search.text.analysis import query_weights
from tests.builders import english
from tests.contract.store.bench import OTHER, TEXT, Bench, PostgresBench, only_postgres
from tests.filtering import NAMES, JsonObject, oracle, random_fields, random_filter
from tests.steps import table_of


def named(bench: Bench, index: Index, *names: str) -> Index:
    bench.work.indexes.name_fields(index.id, names)
    return bench.index(index.id)


def indexed(bench: Bench, document: object, *names: str) -> tuple[Table, Index]:
    """A table and its index, all of it indexed, words too."""
    table, index = bench.served(document)
    index = named(bench, index, *names)
    for node_id in bench.enumerate(index):
        chunk_set = bench.finish(node_id)
        bench.work.keywords.put(chunk_tokens(chunk_set.chunks))
    return table, bench.index(index.id)


def shown(bench: Bench, index: Index, wanted: JsonObject | None) -> dict[str, bool]:
    """Which strings a search may show under a filter, and whether they are stale."""
    reach = Reach(filter=None if wanted is None else parse_filter(wanted))
    ids = bench.ids(index)
    found = bench.work.live_chunks.hydrate(index, reach, ids)
    return {chunk.json_pointer: chunk.stale for chunk in found.values()}


def by_words(bench: Bench, index: Index, wanted: JsonObject, query: str) -> set[str]:
    ranked = bench.work.keywords.best(
        index, Reach(filter=parse_filter(wanted)), query_weights(query), 1_000, timeout_s=9
    )
    found = bench.work.live_chunks.hydrate(index, Reach(), [one.doc_id for one in ranked])
    return {chunk.json_pointer for chunk in found.values()}


def named_by(
    bench: Bench, index: Index, wanted: JsonObject, *, scope: str = "", most: int = 1_000
) -> set[str] | None:
    """The strings that a query of turbopuffer would name."""
    reach = Reach(scope, filter=parse_filter(wanted))
    found = bench.work.live_chunks.matching(index, reach, most=most, timeout_s=9)
    return None if found is None else set(found)


def noted(bench: Bench, index: Index) -> dict[str, Mapping[str, object] | None]:
    known = bench.work.nodes.known(index.generation.id, table_of(index))
    return {str(node.id): node.fields for node in known}


def known_nodes(bench: Bench, index: Index, table: Table) -> list[KnownNode]:
    """The nodes of one table of a project."""
    return bench.work.nodes.known(index.generation.id, table.id)


PUBLIC, DRAFT = {"status": {"eq": "public"}}, {"status": {"eq": "draft"}}


def test_an_index_keeps_no_fields_until_it_names_some(bench: Bench) -> None:
    table, index = indexed(bench, [{"status": "public", "text": TEXT}])
    assert index.fields == ()
    assert list(noted(bench, index).values()) == [None]
    index = named(bench, index, "status", "year")
    assert index.fields == ("status", "year")
    assert not bench.is_compared(index)
    assert bench.compare(index, table) == []  # nothing has to be indexed again
    assert bench.is_compared(index)
    assert list(noted(bench, index).values()) == [{"status": "public"}]
    index = named(bench, index, "status")
    assert bench.is_compared(index)
    assert named(bench, index).fields == ()


def test_a_field_that_changed_is_noted_and_nothing_is_indexed(bench: Bench) -> None:
    table, index = indexed(bench, [{"n": 1, "text": TEXT}], "n")
    fields = noted(bench, index)
    bench.change(table, [{"n": True, "text": TEXT}])
    assert bench.compare(index, table) == []
    assert {node: repr(each) for node, each in noted(bench, index).items()} == {
        node: repr({"n": True}) for node in fields
    }
    bench.change(table, [{"text": TEXT}])
    assert bench.compare(index, table) == []
    assert list(noted(bench, index).values()) == [{}]


def test_fields_that_are_named_after_the_index_was_read_are_all_noted(bench: Bench) -> None:
    project = bench.project()
    table = bench.table({"year": 2020, "text": TEXT}, project)
    before = bench.project_index(project.id)
    index = named(bench, before, "year")
    bench.compare(before, table)
    [node] = known_nodes(bench, index, table)
    assert node.fields == {"year": 2020}
    assert bench.is_compared(index)


def test_a_string_that_changed_has_the_fields_of_then(bench: Bench) -> None:
    table, index = indexed(bench, [{"status": "public", "text": TEXT}], "status")
    bench.change(table, [{"status": "draft", "text": OTHER}])
    assert len(bench.compare(index, table)) == 1
    assert list(noted(bench, index).values()) == [{"status": "draft"}]


def test_the_strings_that_a_filter_lets_through_are_named_if_they_are_few(bench: Bench) -> None:
    document = [
        {"status": "public", "text": TEXT},
        {"status": "draft", "text": OTHER},
        {"status": "draft", "text": TEXT},
    ]
    table, index = indexed(bench, document, "status")
    assert named_by(bench, index, PUBLIC) == {"/0/text"}
    assert named_by(bench, index, DRAFT, most=2) == {"/1/text", "/2/text"}
    assert named_by(bench, index, DRAFT, most=1) is None
    assert named_by(bench, index, DRAFT, scope="/2", most=1) == {"/2/text"}
    assert named_by(bench, index, {"other": {"eq": 1}}) is None  # nobody knows
    bench.change(table, [*document, {"status": "public", "text": TEXT}])
    assert len(bench.compare(index, table)) == 1
    assert named_by(bench, index, PUBLIC) == {"/0/text"}  # what is not searchable is not named


@only_postgres
def test_strings_of_another_project_are_named_to_nobody(bench: Bench) -> None:
    _, index = indexed(bench, [{"status": "public", "text": TEXT}], "status")
    reach = Reach(filter=parse_filter(PUBLIC))
    named: list[list[str] | None] = []
    for project_id in (index.project_id, bench.project().id):
        with bench.store.for_project(project_id) as work:
            named.append(work.live_chunks.matching(index, reach, most=9, timeout_s=9))
    assert named == [["/0/text"], []]


@only_postgres
def test_a_search_for_strings_ends_in_time(bench: PostgresBench) -> None:
    _, index = indexed(bench, [{"status": "public", "text": TEXT}], "status")
    bench.sql(
        """
        INSERT INTO node (generation_id, table_id, json_pointer, pointer_sha256, content_hash,
                          char_count, state, active_set_id, fields)
        SELECT generation_id, table_id, json_pointer || n,
               sha256(CAST(CAST(n AS text) AS bytea)),
               content_hash, char_count, state, active_set_id, fields
        FROM node, generate_series(1, 30000) AS n
        """
    )
    reach = Reach(filter=parse_filter({"not": PUBLIC}))  # no index helps
    with pytest.raises(DatabaseUnavailableError), bench.store.for_all("test") as work:
        work.live_chunks.matching(index, reach, most=1_000, timeout_s=0.001)
    assert named_by(bench, index, {"not": PUBLIC}) == set()


def test_a_filter_that_nobody_can_read_lets_nothing_through(bench: Bench) -> None:
    _, index = indexed(bench, [{"status": "public", "text": TEXT}], "status")
    ids = bench.ids(index)
    assert bench.work.live_chunks.hydrate(index, Reach(filter=NOTHING), ids) == {}
    words = query_weights(TEXT[:40])
    assert bench.work.keywords.best(index, Reach(filter=NOTHING), words, 9, timeout_s=9) == []


def test_what_was_not_compared_yet_is_read_in_the_document(bench: Bench) -> None:
    document = [{"status": "public", "text": TEXT}, {"status": "public", "text": OTHER}]
    table, index = indexed(bench, document, "status")
    document[0]["status"] = "draft"
    document[1]["text"] = OTHER[:50]
    bench.change(table, document)
    assert shown(bench, index, PUBLIC) == {"/1/text": True}
    assert shown(bench, index, DRAFT) == {"/0/text": False}


@pytest.mark.parametrize("names", [(), ("other",)])
def test_a_field_that_nobody_noted_is_read_in_the_document(
    bench: Bench, names: tuple[str, ...]
) -> None:
    document = [{"status": "public", "text": TEXT}, {"status": "draft", "text": TEXT}]
    _, index = indexed(bench, document, *names)
    assert shown(bench, index, PUBLIC) == {"/0/text": False}
    assert by_words(bench, index, PUBLIC, TEXT) == {"/0/text", "/1/text"}  # they may be


def test_the_fields_of_each_table_of_a_project(bench: Bench) -> None:
    project = bench.project()
    tables = [bench.table({"status": each, "text": TEXT}, project) for each in ("public", "draft")]
    index = named(bench, bench.project_index(project.id), "status")
    for table in tables:
        for node_id in bench.compare(index, table):
            bench.finish(node_id)
    reach, ids = Reach(filter=parse_filter(PUBLIC)), bench.ids(index)
    found = bench.work.live_chunks.hydrate(index, reach, ids)
    assert {chunk.table_id for chunk in found.values()} == {tables[0].id}


def test_a_rebuilt_index_keeps_the_same_fields(bench: Bench) -> None:
    table, index = indexed(bench, [{"status": "public", "text": TEXT}], "status")
    bench.work.indexes.start_rebuild(index, replace(index.config, chunk_size=200), at_once=2)
    bench.compare(index, table)
    live = bench.work.indexes.live(index.id)
    assert [each.fields for each in live] == [("status",)] * 2
    assert [list(noted(bench, each).values()) for each in live] == [[{"status": "public"}]] * 2


def test_random_filters_let_through_what_the_oracle_says(bench: Bench) -> None:
    rng = random.Random(5)
    fields = [random_fields(rng) for _ in range(60)]
    document = {
        str(n): {**_nested(own), "text": f"ferry {english(60, n)}"} for n, own in enumerate(fields)
    }
    _, index = indexed(bench, document, *NAMES)
    for _ in range(120):
        wanted = random_filter(rng)
        expected = {f"/{n}/text" for n, own in enumerate(fields) if oracle(wanted, own)}
        assert set(shown(bench, index, wanted)) == expected, wanted
        assert by_words(bench, index, wanted, "ferry") == expected, wanted
        assert named_by(bench, index, wanted) == expected, wanted


def _nested(fields: Mapping[str, object]) -> dict[str, object]:
    """Fields as an object has them."""
    found: dict[str, object] = {}
    for name, value in fields.items():
        outer, _, inner = name.partition("/")
        found[outer] = {inner: value} if inner else value
    return found


def test_a_fixed_rule_lets_no_text_through_that_is_older_than_its_string(bench: Bench) -> None:
    draft = {"status": "draft", "text": TEXT, "other": OTHER}
    table, index = indexed(bench, draft, "status")
    ids, wanted = bench.ids(index), parse_filter({"status": {"eq": "published"}})

    def passing(*, only_current: bool) -> dict[str, bool]:
        reach = Reach(filter=wanted, only_current=only_current)
        found = bench.work.live_chunks.hydrate(index, reach, ids)
        return {chunk.json_pointer: chunk.stale for chunk in found.values()}

    bench.change(table, draft | {"status": "published", "text": OTHER})
    for _ in range(2):  # before and after it is compared
        assert passing(only_current=False) == {"/text": True, "/other": False}
        assert passing(only_current=True) == {"/other": False}
        bench.enumerate(index)
