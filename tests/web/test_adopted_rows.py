"""Rows and columns of other programs: no route breaks, and tools are taken over.

His rows lack what ours have, and his tables have columns of every name that our statements use.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from context_search import postgres
from context_search.agents.list_tools import READING_NAMES
from context_search.integrations.ports import Deadline
from context_search.maintenance.cleanup import RemoveDeleted
from context_search.maintenance.rules.health import CleanupLimits
from context_search.postgres.adoption import SHARED
from context_search.postgres.pool import Database
from tests.adopter import ROWS as HIS_ROWS
from tests.adopter import prepare
from tests.builders import english, planted
from tests.web.access.matrix import ROWS, ids_of, request_of
from tests.web.access.things import things_of
from tests.web.agent import Agent
from tests.web.api import SMALL, Api, LocalParts, answer, problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from context_search.postgres.url import DatabaseUrl
    from tests.stack import DatabaseFactory

# Every column of his that may be NULL, and that is not what makes a row one of the project. Those
# without which a thing goes on working are taken away together.
COLUMNS: list[dict[str, tuple[str, ...]]] = [
    {
        "project": ("name",),
        "context_table": ("name", "description", "created_at", "updated_at"),
        "tool": ("name", "alias", "description", "input_schema", "output_schema", "created_at"),
    },
    {"tool": ("metadata",)},
    {"tool": ("search_config",)},
    {"tool": ("json_path",)},
    {"tool": ("type",)},
    {"tool": ("table_id",)},
    {"tool": ("project_id",)},
    {"context_table": ("data",)},
    {"context_table": ("project_id",)},
]
_ALL_COLUMNS = """
    SELECT DISTINCT attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    WHERE relnamespace IN (to_regnamespace('context_search'), to_regnamespace('public'))
      AND relkind IN ('r', 'v') AND attnum > 0 AND NOT attisdropped
"""
# What ends things comes last.
_LAST = ("GET", "POST", "PUT", "PATCH", "DELETE")
_OF = {"project": "project_id", "context_table": "table_id", "tool": "tool_id"}


def names(database: Database) -> set[str]:
    """Every column of our tables and views, and every name that a statement gives to something."""
    with database.transaction() as tx:
        found = {name for [name] in tx.run(_ALL_COLUMNS)}
    folder = Path(postgres.__file__).parent
    for file in [*folder.rglob("*.py"), *folder.rglob("*.sql")]:
        found.update(re.findall(r"\bAS ([a-z_]+)\b", file.read_text("utf-8")))
    return found


@pytest.fixture(scope="module")
def owner_url(databases: DatabaseFactory) -> Iterator[DatabaseUrl]:
    """His database, migrated; his columns were there before ours."""
    with databases.migrated() as url:
        migrated = Database(url)
        taken = names(migrated)
        migrated.close()
    with databases.empty() as url:
        more = [
            f"""ALTER TABLE {table} ADD COLUMN IF NOT EXISTS "{name}" text DEFAULT 'his'"""
            for table, shared in SHARED.items()
            for name in sorted(taken - set(shared.columns))
        ]
        assert len(more) > 300
        prepare(url, statements=[*more, *HIS_ROWS])
        yield url


@pytest.fixture(scope="module")
def owner(owner_url: DatabaseUrl) -> Iterator[Database]:
    opened = Database(owner_url)
    yield opened
    opened.close()


def sql(owner: Database, statement: str, **values: object) -> list[list[Any]]:
    with owner.transaction() as tx:
        return tx.run(statement, **values)


@pytest.mark.parametrize("columns", COLUMNS, ids=str)
def test_a_column_without_a_value_breaks_no_route(
    api: Api, parts: LocalParts, owner: Database, columns: dict[str, tuple[str, ...]]
) -> None:
    ids = things_of(api, parts.work)
    for table, missing in columns.items():
        nulls = ", ".join(f"{name} = NULL" for name in missing)
        sql(owner, f"UPDATE {table} SET {nulls} WHERE id = :id", id=ids[_OF[table]])
    statuses = {}
    for operation in sorted(ROWS, key=lambda one: (_LAST.index(one[0]), one[1])):
        request = request_of(operation, ids_of(operation, ids))
        call = api.internally if "internal secret" in ROWS[operation].opened_by else api
        statuses[operation] = call(**request).status_code
        if operation == ("GET", "/api/v1/mcps"):
            tools_answer(api)
    parts.work()
    assert {key: status for key, status in statuses.items() if status >= 500} == {}
    assert RemoveDeleted(parts.store).run()[1] == []


def tools_answer(api: Api) -> list[dict[str, Any]]:
    """What an agent is told of the project's Search Tools, each of which it may call."""
    someone = Agent(api, {"api_key": api.key})
    listed = {name: told for name, told in someone.listed().items() if name not in READING_NAMES}
    for name in listed:
        someone.result(name, {"query": "harbour"})
    return [*listed.values()]


def test_a_table_without_name_and_time_says_so(api: Api, owner: Database) -> None:
    table = api.table({"a": "x" * 30})
    assert table["updated_at"] is not None  # ours have a time, whatever his default
    sql(
        owner,
        "UPDATE context_table SET name = NULL, updated_at = NULL WHERE id = :id",
        id=table["id"],
    )
    shown = answer(api("GET", f"/api/v1/tables/{table['id']}"), 200)
    assert (shown["name"], shown["updated_at"]) == (None, None)
    tool = api.tool(table)
    [described] = tools_answer(api)
    assert f"table {table['id']}" in described["description"]
    sql(owner, "UPDATE tool SET name = NULL WHERE id = :id", id=tool["tool_id"])
    [described] = tools_answer(api)
    assert described["name"] == f"search_{tool['tool_id']}"


@pytest.fixture
def his(parts: LocalParts, api: Api) -> Api:
    """His first project, with a key that an operator makes for it."""
    project = Api(api.http, parts, 1)
    made = project.internally("POST", "/api/v1/projects/1/keys", json={"name": "first"})
    project.key = answer(made, 201)["api_key"]
    return project


def adopt(api: Api, project_id: int = 1, **query: str) -> dict[str, Any]:
    path = f"/internal/projects/{project_id}/adopt"
    return answer(api.internally("POST", path, params=query), 200)


def config(owner: Database, tool_id: int, stored: object) -> None:
    sql(
        owner,
        "UPDATE tool SET search_config = CAST(:stored AS jsonb) WHERE id = :id",
        stored=json.dumps(stored),
        id=tool_id,
    )


def test_his_search_tools_are_taken_over_or_listed_as_not(
    his: Api, parts: LocalParts, owner: Database
) -> None:
    problem(his("GET", "/api/v1/tools/1"), 404, "NOT_FOUND")
    config(owner, 1, {**SMALL, "enable_hybrid": True, "of_his_own": [1]})
    config(owner, 2, {"chunk_size": 1})
    said = adopt(his)
    assert said["taken_over"] == [{"tool_id": 1, "table_id": 1, "json_path": ""}]
    assert said["cursor"] is None
    reasons = {one["tool_id"]: (one["code"], one["reason"]) for one in said["not_taken_over"]}
    assert reasons == {
        2: ("INVALID_INPUT", "search_config: chunk_size has a value that is not allowed"),
        3: ("INVALID_POINTER", "a JSON pointer is empty or starts with '/'"),
        4: ("NOT_FOUND", "there is no such table"),
    }
    parts.work()
    [hit] = his.search({"tool_id": 1}, "harbour")["results"]
    assert hit["chunk"]["chunk_text"] == "a harbour at the end of the season"
    [described] = tools_answer(his)
    assert described["name"] == "search_letters"
    before = sql(owner, "SELECT CAST(t AS text) FROM tool AS t WHERE id > 1 ORDER BY id")
    again = adopt(his)
    assert again == {**said, "taken_over": []}
    assert before == sql(owner, "SELECT CAST(t AS text) FROM tool AS t WHERE id > 1 ORDER BY id")
    # One whose cause is mended comes with the next call; a table back from the trash, too.
    config(owner, 2, None)
    sql(owner, "UPDATE context_table SET deleted_at = NULL WHERE id = 2")
    assert [one["tool_id"] for one in adopt(his, cursor="1")["taken_over"]] == [2, 4]


def test_tools_of_no_project_are_named_to_an_operator(api: Api, owner: Database) -> None:
    before = adopt(api, api.project_id)["of_no_project"]
    [[without], [nameless], [of_table]] = sql(
        owner,
        "INSERT INTO tool (table_id, type, name) VALUES (NULL, 'search', 'lost'),"
        " (NULL, 'search', NULL), (4, 'search', 'of a table of nobody') RETURNING id",
    )
    sql(owner, "INSERT INTO tool (table_id, type, name) VALUES (NULL, 'query_data', 'other')")
    sql(owner, "INSERT INTO tool (type, name, deleted_at) VALUES ('search', 'trash', now())")
    said = adopt(api, api.project_id)
    assert (said["taken_over"], said["not_taken_over"]) == ([], [])
    found = said["of_no_project"]
    assert found["count"] == before["count"] + 3
    assert found["tools"] == [
        *before["tools"],
        {"tool_id": without, "name": "lost"},
        {"tool_id": nameless, "name": None},
        {"tool_id": of_table, "name": "of a table of nobody"},
    ]
    sql(
        owner,
        "INSERT INTO tool (type, name) SELECT 'search', 'x' FROM generate_series(1, 100)",
    )
    many = adopt(api, api.project_id)["of_no_project"]
    assert (many["count"], len(many["tools"])) == (found["count"] + 100, 100)
    assert "lost" not in str(tools_answer(api))
    sql(owner, "DELETE FROM tool WHERE id >= :id", id=without)


def test_a_config_that_cannot_be_read_holds_up_no_other_tool(api: Api, owner: Database) -> None:
    table = api.table({"a": 1})
    [[unread], [taken]] = sql(
        owner,
        "INSERT INTO tool (table_id, type, name, search_config)"
        " VALUES (:id, 'search', 'x', CAST(:stored AS jsonb)), (:id, 'search', 'y', NULL)"
        " RETURNING id",
        id=table["id"],
        stored='{"his": %s}' % ("9" * 5_000),
    )
    said = adopt(api, api.project_id)
    assert [one["tool_id"] for one in said["taken_over"]] == [taken]
    assert [(one["tool_id"], one["code"]) for one in said["not_taken_over"]] == [
        (unread, "INVALID_INPUT")
    ]


def test_tools_come_in_pages(api: Api, owner: Database) -> None:
    table = api.table({"a": 1})
    sql(
        owner,
        "INSERT INTO tool (table_id, type, name)"
        " SELECT :id, 'search', 'x' FROM generate_series(1, 101)",
        id=table["id"],
    )
    first = adopt(api, api.project_id)
    assert len(first["taken_over"]) == 100
    rest = adopt(api, api.project_id, cursor=first["cursor"])
    assert (len(rest["taken_over"]), rest["cursor"]) == (1, None)


def clean_up(parts: LocalParts) -> None:
    """Everything that cleanup ever does, at once."""
    limits = CleanupLimits(silent_s=0, grace_s=0, keep_previous_s=0)
    cleanup = replace(parts.use_cases.cleanup, limits=limits)
    for _ in range(3):
        report = cleanup.run(Deadline(parts.clock, parts.clock.monotonic() + 120))
        # Tools of other tests that are his again hold their tables.
        assert [each for each in report.errors if "remove_table" not in each] == []
        parts.work()


def test_a_document_goes_all_its_way(api: Api, parts: LocalParts, owner: Database) -> None:
    sentence = "The lighthouse keeper counts herons."
    table = api.table({"a": planted(english(400), sentence, 200), "b": english(60, 1)})
    tool, other = api.tool(table), api.tool(table, name="other", json_path="/b")
    api.tool(api.table({"a": sentence}), name="elsewhere")
    answer(api("POST", f"{api.project}/search-index"), 202)
    parts.work()
    question = "lighthouse keeper counts herons"
    assert found(api, tool, question)[0] == ("/a", True)
    assert {pointer for pointer, _ in found(api, other, question)} == {""}
    whole = {"query": question}
    path = f"{api.project}/search"
    assert len(answer(api("POST", path, json=whole), 200)["results"]) > 1
    change = {"a": english(300, 2), "b": english(60, 1)}
    answer(api("PUT", f"/api/v1/tables/{table['id']}/data", json=change), 200)
    parts.work()
    assert not any(is_it for _, is_it in found(api, tool, question))
    clean_up(parts)
    assert {pointer for pointer, _ in found(api, tool, "harbour")} == {"/a", "/b"}
    assert api("DELETE", f"/api/v1/tools/{other['tool_id']}").status_code == 204
    assert api("DELETE", f"/api/v1/tables/{table['id']}").status_code == 204
    parts.work()
    clean_up(parts)
    left = sql(owner, "SELECT count(*) FROM chunks WHERE table_id = :table", table=table["id"])
    rows = sql(owner, "SELECT count(*) FROM context_table WHERE id = :id", id=table["id"])
    assert (left, rows) == ([[0]], [[0]])
    assert len(answer(api("POST", path, json=whole), 200)["results"]) == 1


def found(api: Api, tool: dict[str, Any], query: str) -> list[tuple[str, bool]]:
    """Where each hit is, and whether it has the sentence."""
    hits = api.search(tool, query)["results"]
    return [(hit["json_path"], "lighthouse" in hit["chunk"]["chunk_text"]) for hit in hits]
