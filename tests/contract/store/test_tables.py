"""Contract of ``Projects`` and ``Tables``."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_search.catalog.rules.projects import ListedProject
from context_search.catalog.rules.tables import StringsAt
from context_search.catalog.tables import ManageTables
from context_search.core.documents import parse_json
from context_search.core.errors import ConflictError, InvalidInputError, NotFoundError
from context_search.core.json_text import to_json
from context_search.core.messages import CompareIndex
from context_search.core.model import Table
from context_search.postgres.errors import ForeignKeyViolationError
from context_search.store import UnitOfWork
from context_search_editing.matching import json_pieces
from context_search_editing.rules.replacing import LiteralReplacer, ReplaceRequest
from tests.builders import present
from tests.contract.store.bench import Bench, PostgresBench, only_postgres
from tests.profile import examples

# What JSON escapes, and what stands beside it; four bytes; another form of a letter.
ANY_TEXT = st.text(
    st.sampled_from('"\\/nrtu0\b\f\n\r\t\x01\x1f\x7f\u2028é\u0301e林😀')
    | st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    max_size=12,
)


def test_a_new_table_has_its_document_in_revision_one(bench: Bench) -> None:
    table = bench.table({"a": [1, "ü", None]})
    revision, text = bench.work.tables.read(table.id)
    assert (table.revision, revision) == (1, 1)
    assert json.loads(text) == {"a": [1, "ü", None]}


def test_a_table_is_found_by_its_own_project_only(bench: Bench) -> None:
    table, stranger = bench.table({}), bench.project()
    assert bench.work.tables.find(table.id, project_id=table.project_id) == table
    assert bench.work.tables.find(table.id, project_id=stranger.id) is None
    assert bench.work.tables.find(table.id + 999, project_id=table.project_id) is None


def test_another_document_is_another_revision(bench: Bench) -> None:
    table = bench.table({"a": 1})
    bench.pass_time(60)
    changed = bench.change(table, {"a": 2})
    assert bench.work.tables.read(table.id) == (
        2,
        changed_text(bench.work.tables.read(table.id)[1]),
    )
    assert bench.work.tables.find(table.id, project_id=table.project_id) == changed
    assert changed.revision == 2
    assert table.updated_at
    assert changed.updated_at
    assert changed.updated_at > table.updated_at


def changed_text(text: str) -> str:
    """The text as the store writes it, checked for what it says."""
    assert json.loads(text) == {"a": 2}
    return text


def test_numbers_keep_their_digits_and_equal_ones_are_the_same_document(bench: Bench) -> None:
    table = bench.table(parse_json(b'{"a": 1.50, "b": [18446744073709551617.0000000000001]}'))
    _, text = bench.work.tables.read(table.id)
    assert "18446744073709551617.0000000000001" in text
    assert "1.50" in text
    same = b'{"b": [18446744073709551617.00000000000010], "a": 15e-1}'
    assert bench.change(table, parse_json(same)).revision == 1
    other = b'{"b": [18446744073709551617.0000000000002], "a": 15e-1}'
    assert bench.change(table, parse_json(other)).revision == 2


def test_the_same_document_is_the_same_revision(bench: Bench) -> None:
    table = bench.table({"a": 1, "b": [2]})
    bench.pass_time(60)
    before = bench.work.tables.find(table.id, project_id=table.project_id)
    assert bench.change(table, {"b": [2], "a": 1}) == before
    assert table.revision == 1


def test_a_document_is_written_only_over_the_expected_revision(bench: Bench) -> None:
    table = bench.table({"a": 1})
    assert bench.work.tables.replace(table.id, "{}", expected_revision=2) is None
    assert json.loads(bench.work.tables.read(table.id)[1]) == {"a": 1}
    replaced = present(bench.work.tables.replace(table.id, "{}", expected_revision=1))
    assert replaced.revision == 2


def test_a_deleted_table_is_invisible_at_once(bench: Bench) -> None:
    table = bench.table({"a": 1})
    tool, _ = bench.tool(table)
    bench.delete(table)
    with bench.store.for_all("test") as work:
        assert work.tables.find(table.id, project_id=table.project_id) is None
        assert work.tables.lock(table.id) is None
        assert work.tables.replace(table.id, "{}", expected_revision=None) is None
        assert work.tools.find(tool.id, project_id=None) is None
        assert work.tools.page(table.project_id, after=0, limit=9) == []
        assert work.tools.of_index(tool.index_id) == []
        assert work.tools.first_of_names(table.project_id, ["search"]) == {}


def test_a_document_has_a_size(bench: Bench) -> None:
    for characters in (5_000, 3_000_000):
        document = {"a": "ü" * characters}
        size = bench.work.tables.size(bench.table(document).id)
        # The store may write it with other spaces.
        assert abs(size - len(to_json(document).encode())) < 10
    assert bench.work.tables.size(10**9) == 0


def test_the_lock_tells_the_revision(bench: Bench) -> None:
    table = bench.table({"a": 1})
    bench.change(table, {"a": 2})
    assert bench.work.tables.lock(table.id) == 2


def test_a_document_that_is_not_there_cannot_be_read(bench: Bench) -> None:
    with bench.store.for_all("test") as work, pytest.raises(NotFoundError):
        work.tables.read(10**9)


PARTS = {"a/b": [1, {"-1": "x", "01": 2.50}], "": {"": None}, "0": "é", "~ ": [[True]]}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ([], PARTS),
        (["a/b"], PARTS["a/b"]),
        (["a/b", "0"], 1),
        (["a/b", "1", "-1"], "x"),
        (["a/b", "1", "01"], 2.5),
        ([""], {"": None}),
        (["", ""], None),
        (["0"], "é"),
        (["~ ", "0", "0"], True),
    ],
)
def test_a_part_of_a_document_is_what_its_path_leads_to(
    bench: Bench, path: list[str], value: object
) -> None:
    table = bench.table(PARTS)
    part = present(bench.work.tables.part(table.id, path, max_bytes=1_000))
    assert part.text is not None
    assert json.loads(part.text) == value
    assert (part.revision, part.size) == (1, len(part.text.encode()))


@pytest.mark.parametrize(
    "path",
    [
        ["x"],
        ["a"],
        ["a/b", "2"],
        *(["a/b", no_index] for no_index in ("-1", "01", "+1", " 1", "1 ", "-0", "", "1e0", "٠")),
        ["a/b", "9" * 30],
        ["0", "0"],
        ["", "", ""],
        ["~ ", "0", "00"],
    ],
    ids=str,
)
def test_a_path_that_leads_nowhere_has_no_part(bench: Bench, path: list[str]) -> None:
    table = bench.table(PARTS)
    assert bench.work.tables.part(table.id, path, max_bytes=1_000) is None
    assert bench.work.tables.part(2**60, [], max_bytes=1_000) is None


def test_of_a_part_that_is_too_long_only_the_size_is_told(bench: Bench) -> None:
    table = bench.table({"a": "é" * 50})
    fits = bench.work.tables.part(table.id, ["a"], max_bytes=102)
    over = bench.work.tables.part(table.id, ["a"], max_bytes=101)
    assert fits is not None
    assert over is not None
    assert (fits.size, fits.text) == (102, '"' + "é" * 50 + '"')
    assert (over.size, over.text) == (102, None)


def test_a_part_that_has_none_of_some_pieces_keeps_its_text(bench: Bench) -> None:
    table = bench.table({"a": 'say "é"', "b": 1})
    with bench.store.for_all("test") as work:
        part = partial(work.tables.part, table.id)
        lacking = part([], max_bytes=1_000, holding=["zz", "z"])
        too_long = part([], max_bytes=3, holding=["zz"])
        holding = [
            part(path, max_bytes=1_000, holding=pieces)
            for path, pieces in (
                ([], ["zz", '\\"é\\"']),
                (["a"], ["say"]),
                ([], []),
                (["b"], ["1"]),
            )
        ]
        elsewhere = part(["b"], max_bytes=1_000, holding=["say"])
        assert part(["c"], max_bytes=1_000, holding=["say"]) is None
    every = [lacking, too_long, *holding, elsewhere]
    assert [each and (each.text is None, each.lacks, each.is_too_long) for each in every] == [
        (True, True, False),
        (True, False, True),
        *[(False, False, False)] * 4,
        (True, True, False),
    ]
    assert (lacking and lacking.size) == (holding[0] and holding[0].size)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ANY_TEXT, min_size=1, max_size=3), ANY_TEXT.filter(bool), st.data())
def test_no_document_with_a_literal_lacks_its_pieces(
    bench: Bench, strings: list[str], other: str, data: st.DataObject
) -> None:
    string = data.draw(st.sampled_from(strings))
    first = data.draw(st.integers(0, len(string)))
    finds = [string[first : data.draw(st.integers(first, len(string)))], other]
    table = bench.table({"strings": strings})
    for request in (ReplaceRequest(find, "") for find in finds if find):
        part = bench.work.tables.part(table.id, [], max_bytes=9_999, holding=json_pieces(request))
        literal = LiteralReplacer(request).literal
        assert part is not None
        assert not (part.lacks and any(map(literal.occurs_in, strings)))
        assert part.lacks or any(piece in str(part.text) for piece in json_pieces(request))


def test_a_change_orders_a_comparison_of_every_index_of_the_table(bench: Bench) -> None:
    project = bench.project()
    table, neighbour = bench.table({"a": 1}, project), bench.table({"a": 1}, project)
    _, index = bench.tool(table)
    bench.tool(neighbour)
    bench.messages()
    bench.change(table, {"a": 1})
    assert bench.messages() == []
    bench.change(table, {"a": 2})
    assert bench.messages() == [CompareIndex(index.id, table.id).to_json()]


def test_a_project_is_there_or_not(bench: Bench) -> None:
    project = bench.project()
    with bench.store.for_project(project.id) as work:
        assert work.projects.exists(project.id)
    for nowhere in (10**9, 2**63 - 1):
        with bench.store.for_project(nowhere) as work:
            assert not work.projects.exists(nowhere)


def strings_at(bench: Bench, table: Table, path: list[str], *, measured: bool) -> StringsAt | None:
    return bench.work.tables.strings_at(table.id, path, measured=measured)


def test_the_strings_at_a_place_are_measured_in_characters(bench: Bench) -> None:
    table = bench.table({"a": ["x", {"b": "\U0001f600" * 5}], "n": [1], "s": "abc", "null": None})
    measured = {"": 5, "a": 5, "n": 0, "s": 3, "null": 0}
    for key, longest in measured.items():
        path = [key] if key else []
        assert strings_at(bench, table, path, measured=True) == StringsAt(longest)
        assert strings_at(bench, table, path, measured=False) == StringsAt(None)
    for path in (["zz"], ["a", "2"], ["a", "-1"], ["a", "01"], ["s", "0"]):
        assert strings_at(bench, table, path, measured=True) is None


def test_a_part_says_whether_it_is_one_string(bench: Bench) -> None:
    table = bench.table({"s": "abc" * 9, "a": ["x" * 9]})
    parts = [bench.work.tables.part(table.id, [key], max_bytes=5) for key in ("s", "a")]
    assert [part and (part.text, part.is_string) for part in parts] == [(None, True), (None, False)]


def test_the_tables_of_a_project_come_by_their_ids(bench: Bench) -> None:
    project = bench.project()
    tables = [bench.table({}, project) for _ in range(4)]
    bench.table({})
    bench.delete(tables[1])
    ids = [tables[0].id, tables[2].id, tables[3].id]
    with bench.store.for_project(project.id) as work:
        assert work.tables.ids(project.id, after=0, limit=10) == ids
        assert work.tables.ids(project.id, after=ids[0], limit=1) == ids[1:2]
        assert work.tables.ids(project.id, after=ids[2], limit=1) == []
        assert work.tables.count(project.id) == 3
    bench.put_away(tables[0])
    with bench.store.for_project(project.id) as work:
        assert work.tables.ids(project.id, after=0, limit=10) == ids[1:]
        assert work.tables.count(project.id) == 2


@only_postgres
def test_projects_are_listed_with_what_they_have(bench: Bench) -> None:
    first, empty, gone = bench.project(), bench.project(), bench.project()
    table = bench.table({}, first)
    deleted = bench.table({}, first)
    for scope in ("/a", "/b"):
        bench.tool(table, scope)
    bench.delete(deleted)
    assert bench.work.projects.mark_deleted(gone.id)
    page = bench.work.projects.page(after=0, limit=9)
    assert page == [
        ListedProject(first.id, first.name, tables_count=1, tools_count=2, building=0),
        ListedProject(empty.id, empty.name, tables_count=0, tools_count=0, building=0),
    ]
    assert bench.work.projects.page(after=0, limit=1) == page[:1]
    assert bench.work.projects.page(after=first.id, limit=9) == page[1:]


@only_postgres
def test_the_address_of_its_places_changes_without_a_revision(bench: PostgresBench) -> None:
    project = bench.project()
    url = "https://a.example/{cite}"
    table = bench.work.tables.add(project.id, "t", None, "{}", url_template=url)
    assert table.url_template == url
    found = bench.work.tables.find(table.id, project_id=project.id)
    assert found == table
    for template in (None, "https://b.example/{pointer}"):
        changed = bench.work.tables.set_url_template(table.id, template, project_id=project.id)
        assert changed == replace(table, url_template=template)
    other = bench.project().id
    assert bench.work.tables.set_url_template(table.id, None, project_id=other) is None
    bench.delete(table)
    assert bench.work.tables.set_url_template(table.id, None, project_id=project.id) is None


@only_postgres
@pytest.mark.parametrize(
    ("meanwhile", "refusal"), [("deleted", NotFoundError), ("changed", ConflictError)]
)
def test_a_revision_that_is_gone_when_the_row_is_free_is_missing_or_another(
    bench: PostgresBench, meanwhile: str, refusal: type[Exception]
) -> None:
    table = bench.table({"a": 1})
    delete = ManageTables(bench.store).delete
    caller = bench.principal(table)
    with bench.store.for_all("test") as work:
        if meanwhile == "deleted":
            work.tables.mark_deleted(table.id)
        else:
            work.tables.replace(table.id, "2", expected_revision=table.revision)
        refused = bench.begun(delete, caller, table.id, if_revision=table.revision)
        assert not refused.done()  # it has found the table, and waits for its row
    with pytest.raises(refusal):
        refused.result()


@only_postgres
def test_plain_sql_moves_the_revision_too(bench: PostgresBench) -> None:
    table = bench.table({"a": 1})
    bench.tool(table)
    bench.lose_messages()
    bench.sql("UPDATE context_table SET name = 'other'")
    assert bench.messages() == []
    bench.sql("UPDATE context_table SET data = jsonb_set(data, '{a}', '2')")
    changed = present(bench.work.tables.find(table.id, project_id=table.project_id))
    assert (changed.revision, changed.name) == (2, "other")
    assert table.updated_at
    assert changed.updated_at
    assert changed.updated_at > table.updated_at
    assert len(bench.messages()) == 1


@only_postgres
def test_a_row_without_data_reads_as_null(bench: PostgresBench) -> None:
    table = bench.table(1)
    bench.sql("UPDATE context_table SET data = NULL")
    assert bench.work.tables.read(table.id) == (2, "null")
    assert bench.work.tables.size(table.id) == 0


@only_postgres
@pytest.mark.parametrize("text", ['"\\u0000"', '{"\\u0000": 1}', '"a\x00b"'])
def test_nul_is_an_invalid_input_and_not_a_broken_database(bench: PostgresBench, text: str) -> None:
    with pytest.raises(InvalidInputError):
        bench.work.tables.add(bench.project().id, "t", None, text)


@only_postgres
def test_a_table_of_no_project_is_refused_by_the_database(bench: PostgresBench) -> None:
    with pytest.raises(ForeignKeyViolationError):
        bench.work.tables.add(2**62, "t", None, "{}")


@only_postgres
def test_the_patience_for_a_table_ends_with_its_lock(bench: PostgresBench) -> None:
    table = bench.table({})
    limit = "SELECT current_setting('lock_timeout')"
    with bench.tx() as tx:
        usual = tx.run(limit)
        assert UnitOfWork(tx).tables.lock(table.id) == 1
        assert tx.run(limit) == usual != [["9s"]]
