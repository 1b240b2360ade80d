"""No tenant crosses: every id of the API becomes a stranger's, and one that is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from context_search.postgres.connection import Connection
from context_search.web.openapi import contract
from tests.web.access.matrix import (
    EXAMPLES,
    INTERNAL,
    PUBLIC,
    ROWS,
    TRUSTED,
    UNDOCUMENTED,
    Operation,
    body_schema,
    expected,
    filled,
    has_ids,
    id_fields,
    ids_of,
    markers,
    request_of,
    swaps,
)
from tests.web.access.stores import TABLES, state_without
from tests.web.access.things import MISSING, Tenant, things_of
from tests.web.api import Api, LocalParts, problem

if TYPE_CHECKING:
    from context_search.postgres.url import DatabaseUrl

every_route_with_ids = pytest.mark.parametrize(
    "operation", [pair for pair in PUBLIC if has_ids(pair)], ids=" ".join
)
OF_THE_CALLER = [
    ("GET", "/api/v1/whoami"),
    ("POST", "/api/v1/console/codes"),
]
"""Routes without an id: what they tell and make is of the caller's project."""
IN_ORDER = ("GET", "POST", "PUT", "PATCH", "DELETE")


def test_every_documented_route_is_in_the_matrix_and_each_example_has_its_route() -> None:
    documented = {
        (method.upper(), path)
        for path, methods in contract()["paths"].items()
        for method in methods
    }
    assert documented == {*ROWS} - UNDOCUMENTED
    assert {*EXAMPLES} <= {*ROWS}


def test_two_routes_name_nothing_and_are_about_their_caller_only() -> None:
    assert [pair for pair in PUBLIC if not has_ids(pair)] == OF_THE_CALLER


def sent_as_ids(template: Any, name: str = "") -> Iterator[str]:
    """The names of the fields of an example that hold markers."""
    if isinstance(template, dict):
        for inner_name, inner in template.items():
            yield from sent_as_ids(inner, inner_name)
    elif isinstance(template, list):
        for inner in template:
            yield from sent_as_ids(inner, name)
    elif [*markers(template)]:
        yield name


@pytest.mark.parametrize("operation", sorted(set(ROWS) - UNDOCUMENTED), ids=" ".join)
def test_every_id_that_a_route_takes_is_in_the_matrix(operation: Operation) -> None:
    method, path = operation
    described = contract()["paths"][path][method.lower()]
    queries = {one["name"] for one in described.get("parameters", ()) if one["in"] == "query"}
    assert {name for name in queries if name == "cursor" or "id" in name.split("_")} == {
        *sent_as_ids(dict(ROWS[operation].query))
    }
    assert {*id_fields(body_schema(operation))} == {*sent_as_ids(ROWS[operation].body)}


def ask(api: Api, operation: Operation, ids: dict[str, Any]) -> httpx2.Response:
    call = api.internally if ROWS[operation].opened_by == TRUSTED else api
    return call(**request_of(operation, ids))


def seen(response: httpx2.Response) -> tuple[int, dict[str, str], object]:
    """All that a caller sees of an answer, but for the id of the request."""
    varying = ("x-request-id", "content-length")  # the length is that of the body
    headers = {name: text for name, text in response.headers.items() if name not in varying}
    body = response.json()
    body.pop("requestId", None)
    body.get("explain", {}).pop("milliseconds", None)
    return response.status_code, headers, body


def in_order(operation: Operation) -> tuple[object, ...]:
    """What is deleted goes last, and what it belongs to after it; the project after everything."""
    method, path = operation
    is_project = operation == ("DELETE", "/api/v1/projects/{project_id}")
    kind = "DELETE" if path.endswith("/clear") else method
    return is_project, IN_ORDER.index(kind), -path.count("/"), [-ord(char) for char in path]


def test_the_owner_is_answered_so_that_a_refusal_means_something(
    api: Api, parts: LocalParts
) -> None:
    ids = things_of(api, parts.work)
    parts.objects.contents[ids["upload_url"]] = b"{}"
    found = {
        operation: ask(api, operation, ids_of(operation, ids)).status_code
        for operation in sorted(ROWS, key=in_order)
    }
    assert found == {operation: row.status for operation, row in ROWS.items()}


@every_route_with_ids
def test_what_is_a_strangers_looks_like_what_is_missing(
    parts: LocalParts, victim: Tenant, stranger: Tenant, operation: Operation
) -> None:
    own = ids_of(operation, stranger.ids)
    before = state_without(parts, stranger.api.project_id)
    assert swaps(operation)
    for swapped in swaps(operation):
        others = (ids_of(operation, victim.ids), ids_of(operation, MISSING))
        answers = [
            ask(stranger.api, operation, {**own, **{name: ids[name] for name in swapped}})
            for ids in others
        ]
        foreign, missing = map(seen, answers)
        assert foreign == missing, swapped
        assert foreign[0] == expected(ROWS[operation], swapped), swapped
        if foreign[0] == 404:
            problem(answers[0], 404, "NOT_FOUND")
    assert state_without(parts, stranger.api.project_id) == before


@pytest.mark.parametrize("operation", [pair for pair in INTERNAL if "{" in pair[1]], ids=" ".join)
def test_trusted_services_get_404_for_what_is_missing(
    stranger: Tenant, operation: Operation
) -> None:
    swapped = swaps(operation)[-1]  # all of them
    response = ask(stranger.api, operation, dict(MISSING))
    status = expected(ROWS[operation], swapped)
    problem(response, status, {404: "NOT_FOUND", 409: "PROJECT_INDEX_OFF"}[status])


@pytest.mark.parametrize(
    "name", ["after_table", "after_tool", "after_key", "after_mcp", "after_binding"]
)
def test_a_page_after_a_strangers_id_holds_only_what_is_ones_own(
    victim: Tenant, stranger: Tenant, name: str
) -> None:
    paged = [pair for pair, row in ROWS.items() if name in {*markers(row.query)}]
    assert paged
    for operation in paged:
        own = ids_of(operation, stranger.ids)
        asked = {**own, name: victim.ids[name]}
        whole = stranger.api("GET", filled(operation[1], own))
        assert seen(ask(stranger.api, operation, asked)) == seen(whole)
        [rows] = [value for value in whole.json().values() if isinstance(value, list)]
        assert own[name] in {row["id"] for row in rows}


@pytest.fixture(scope="module")
def locked(victim: Tenant, stranger: Tenant, owner_url: DatabaseUrl) -> Iterator[Tenant]:
    """The stranger, while another session holds every row of the victim and its advisory locks.

    Whoever waited for them would learn that they exist, and hold up their owner.
    """
    project_id, table_id = victim.ids["project_id"], victim.ids["table_id"]
    with closing(Connection(owner_url, timeout_s=60.0)) as session:
        tables = session.query(TABLES).rows
        session.query("SET search_path = context_search, public")
        session.query("BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0")
        for name, column in tables:
            if column:
                session.query(f"SELECT FROM {name} WHERE project_id = {project_id} FOR UPDATE")
        session.query(f"SELECT FROM project WHERE id = {project_id} FOR UPDATE")
        for kind, number in (("table", table_id), ("plans", project_id), ("uploads", project_id)):
            session.query(
                f"SELECT pg_advisory_xact_lock(hashtextextended('context_search.{kind}', {number}))"
            )
        yield stranger


@every_route_with_ids
def test_what_is_a_strangers_and_locked_looks_like_what_is_missing(
    victim: Tenant, locked: Tenant, operation: Operation
) -> None:
    own = ids_of(operation, locked.ids)
    for swapped in swaps(operation):
        foreign, missing = (
            seen(ask(locked.api, operation, {**own, **{name: ids[name] for name in swapped}}))
            for ids in (ids_of(operation, victim.ids), ids_of(operation, MISSING))
        )
        assert foreign == missing, swapped
