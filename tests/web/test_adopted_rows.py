"""Rows that other programs wrote lack what ours have: no route breaks, and tools are taken over."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from context_search.maintenance.cleanup import RemoveDeleted
from context_search.postgres.pool import Database
from tests.adopter import prepare
from tests.builders import english
from tests.web.access.matrix import ROWS, Operation, ids_of, request_of
from tests.web.access.things import things_of
from tests.web.api import SMALL, Api, LocalParts, answer, problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from context_search.postgres.url import DatabaseUrl
    from tests.stack import DatabaseFactory

# Every column of his that may be NULL, and that is not what makes a row one of the project.
COLUMNS = [
    ("project", "name"),
    *(("context_table", name) for name in ("name", "description", "data", "created_at")),
    *(("context_table", name) for name in ("updated_at", "project_id")),
    *(("tool", name) for name in ("table_id", "json_path", "type", "name", "alias")),
    *(("tool", name) for name in ("description", "input_schema", "output_schema", "metadata")),
    *(("tool", name) for name in ("created_at", "search_config", "project_id")),
]
QUESTION = {"query": "harbour"}
_QUESTIONS = ("search", "search/explain", "retrieve")
_INTERNAL = ("search", "retrieve")
# What ends things comes last.
_LAST = ("GET", "POST", "PUT", "PATCH", "DELETE")
_OF = {"project": "project_id", "context_table": "table_id", "tool": "tool_id"}


@pytest.fixture(scope="module")
def owner_url(databases: DatabaseFactory) -> Iterator[DatabaseUrl]:
    """His database, migrated."""
    with databases.empty() as url:
        prepare(url)
        yield url


@pytest.fixture(scope="module")
def owner(owner_url: DatabaseUrl) -> Iterator[Database]:
    opened = Database(owner_url)
    yield opened
    opened.close()


def sql(owner: Database, statement: str, **values: object) -> list[list[Any]]:
    with owner.transaction() as tx:
        return tx.run(statement, **values)


def operations() -> list[Operation]:
    return sorted(ROWS, key=lambda one: (_LAST.index(one[0]), one[1]))


@pytest.mark.parametrize("column", COLUMNS, ids=".".join)
def test_a_column_without_a_value_breaks_no_route(
    api: Api, parts: LocalParts, owner: Database, column: tuple[str, str]
) -> None:
    ids = things_of(api, parts.work)
    table, name = column
    sql(owner, f"UPDATE {table} SET {name} = NULL WHERE id = :id", id=ids[_OF[table]])
    statuses = {}
    for operation in operations():
        request = request_of(operation, ids_of(operation, ids))
        call = api.internally if "internal secret" in ROWS[operation].opened_by else api
        statuses[operation] = call(**request).status_code
        if operation == ("GET", "/api/v1/mcps"):
            tools_answer(api)
    parts.work()
    assert {key: status for key, status in statuses.items() if status >= 500} == {}
    assert RemoveDeleted(parts.store).run()[1] == []


def tools_answer(api: Api) -> list[dict[str, Any]]:
    """What an agent is told of the project's tools, each of which it may call."""
    listed = rpc(api, "tools/list", {})["tools"]
    for tool in listed:
        rpc(api, "tools/call", {"name": tool["name"], "arguments": {"query": "harbour"}})
    return list(listed)


def rpc(api: Api, method: str, params: dict[str, Any]) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"accept": "application/json, text/event-stream"}
    headers["mcp-protocol-version"] = "2025-06-18"
    response = api("POST", "/mcp", json=body, headers=headers)
    said = response.json()
    assert "error" not in said, said
    result: dict[str, Any] = said["result"]
    return result


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
    assert described["name"] == "search"


def test_the_tools_of_a_table_that_was_moved_are_not_there(api: Api, owner: Database) -> None:
    table = api.table({"a": english(60)})
    tool_id = api.tool(table)["tool_id"]
    api.parts.work()
    key, secret = f"/api/v1/tools/{tool_id}", f"/internal/tools/{tool_id}"
    requests = [
        *(partial(api, "POST", f"{key}/{what}", json=QUESTION) for what in _QUESTIONS),
        *(partial(api.internally, "POST", f"{secret}/{what}", json=QUESTION) for what in _INTERNAL),
        partial(api.internally, "GET", f"{secret}/chunks/stats"),
        partial(api, "GET", key),
        partial(api, "GET", f"{key}/search-index"),
    ]
    move = "UPDATE context_table SET project_id = :to WHERE id = :id"
    sql(owner, move, to=2, id=table["id"])
    for request in requests:
        problem(request(), 404, "NOT_FOUND")
    assert tools_answer(api) == []
    problem(api("DELETE", f"/api/v1/tools/{tool_id}"), 404, "NOT_FOUND")
    sql(owner, move, to=api.project_id, id=table["id"])
    for request in requests:
        answer(request(), 200)
    assert len(tools_answer(api)) == 1


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


def test_a_project_that_is_not_there_is_not_adopted(his: Api) -> None:
    response = his.internally("POST", "/internal/projects/999999999/adopt")
    problem(response, 404, "NOT_FOUND")


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
