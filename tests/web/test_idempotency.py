"""Creating requests that come again with the same ``Idempotency-Key``."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from context_search.access.idempotency import Idempotency, IdempotentRequest
from context_search.core.errors import IdempotencyKeyInUseError
from tests.builders import english
from tests.web.api import SECRET, Api, answer, problem

REPLAYED = "idempotency-replayed"
UPLOAD = {"format": "json", "size": 1}


def post(
    api: Api, path: str, body: object, idempotency_key: str = "one", **more: Any
) -> httpx2.Response:
    headers = {"idempotency-key": idempotency_key}
    return api("POST", path, json=body, headers=headers, **more)


@pytest.fixture(scope="module")
def requests(reader: Api) -> dict[str, tuple[str, dict[str, Any]]]:
    """Every kind of creating request: path and body."""
    api = reader
    table = api.table({"a": english(200)})
    tool, mcp = api.tool(table), api.mcp()
    project = api.project
    key_id = api.new_key()["id"]
    mcp_key_id = answer(api("GET", f"/api/v1/mcps/{mcp['id']}/keys"), 200)["keys"][0]["id"]
    named = {"project_id": api.project_id, "name": "x"}
    return {
        "table": ("/api/v1/tables", {**named, "data": {"a": 1}}),
        "tool": ("/api/v1/tools/search", {**named, "table_id": table["id"]}),
        "mcp": ("/api/v1/mcps", named),
        "binding": (f"/api/v1/mcps/{mcp['id']}/bindings", {"tool_id": tool["tool_id"]}),
        "key": (f"{project}/keys", {}),
        "mcp key": (f"/api/v1/mcps/{mcp['id']}/keys", {}),
        "rotation": (f"{project}/keys/{key_id}/rotate", {}),
        "mcp rotation": (f"/api/v1/mcps/{mcp['id']}/keys/{mcp_key_id}/rotate", {}),
        "upload": (f"/api/v1/tables/{table['id']}/uploads", UPLOAD),
    }


def test_an_answer_that_somebody_changed_in_the_database_is_not_given(api: Api) -> None:
    path, body = "/api/v1/tables", {"project_id": api.project_id, "name": "x", "data": 1}
    made = answer(post(api, path, body), 201)
    with api.parts.postgres.database.transaction() as tx:
        tx.run("UPDATE idempotency_key SET answer = set_byte(answer, 20, get_byte(answer, 20) # 1)")
    problem(post(api, path, body), 422, "IDEMPOTENCY_KEY_REUSED")
    assert answer(api("GET", f"/api/v1/tables/{made['id']}"), 200)["revision"] == 1


KINDS = ["table", "tool", "mcp", "binding", "key", "mcp key", "rotation", "mcp rotation", "upload"]
COUNTED = ("project", "context_table", "tool", "mcp", "mcp_binding", "api_key", "upload")


def count(api: Api) -> list[int]:
    """How many rows there are of everything that can be created."""
    with api.parts.postgres.database.transaction() as tx:
        return [tx.run(f"SELECT count(*) FROM {table}")[0][0] for table in COUNTED]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_request_again_gets_the_first_answer_and_does_nothing(
    reader: Api, requests: dict[str, tuple[str, dict[str, Any]]], kind: str
) -> None:
    path, body = requests[kind]
    key = kind.replace(" ", "-")
    first = post(reader, path, body, key)
    answer(first, 201)
    before = count(reader)
    again = post(reader, path, body, key)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    for name in ("etag", "cache-control"):
        assert again.headers.get(name) == first.headers.get(name)
    assert again.headers["content-type"] == first.headers["content-type"]
    assert (first.headers.get(REPLAYED), again.headers.get(REPLAYED)) == (None, "true")
    assert count(reader) == before
    other = post(reader, path, body, f"{key}-2")
    assert other.headers.get(REPLAYED) is None


@pytest.mark.parametrize("path", ["/api/v1/projects", "/api/v1/projects/{}/keys"])
def test_the_same_for_projects_and_operators(api: Api, path: str) -> None:
    headers = {"x-internal-secret": SECRET, "idempotency-key": f"project-{api.project_id}"}
    where = path.format(api.project_id)
    answers = [api.http.post(where, headers=headers, json={"name": "x"}) for _ in range(2)]

    assert answers[0].content == answers[1].content
    assert answers[1].headers[REPLAYED] == "true"


def test_an_upload_under_another_condition_is_another_request(api: Api) -> None:
    path = f"/api/v1/tables/{api.table({})['id']}/uploads"
    headers = {"idempotency-key": "one", "if-match": '"1"'}
    answer(api("POST", path, json=UPLOAD, headers=headers), 201)
    again = post(api, path, UPLOAD)
    problem(again, 422, "IDEMPOTENCY_KEY_REUSED")


def test_a_key_with_another_request_is_refused(api: Api) -> None:
    body = {"project_id": api.project_id, "name": "x", "data": 1}
    answer(post(api, "/api/v1/tables", body), 201)
    before = count(api)
    other = {**body, "name": "y"}
    problem(post(api, "/api/v1/tables", other), 422, "IDEMPOTENCY_KEY_REUSED")
    response = post(api, f"{api.project}/keys", {})
    problem(response, 422, "IDEMPOTENCY_KEY_REUSED")
    assert count(api) == before


def test_a_request_that_failed_is_executed_when_it_comes_again(api: Api) -> None:
    mcp, table = api.mcp(), api.table({"a": english(200)})
    path, body = f"/api/v1/mcps/{mcp['id']}/bindings", {"tool_id": 2**62}
    problem(post(api, path, body), 404, "NOT_FOUND")
    problem(post(api, path, body), 404, "NOT_FOUND")
    answer(post(api, path, {"tool_id": api.tool(table)["tool_id"]}), 201)


def test_a_replay_needs_the_rights_that_the_request_needs(api: Api) -> None:
    body = {"project_id": api.project_id, "name": "x"}
    answer(post(api, "/api/v1/mcps", body), 201)
    modest = api.new_key(scopes=["search"])["api_key"]
    problem(post(api, "/api/v1/mcps", body, key=modest), 403, "PERMISSION_DENIED")
    problem(post(api, "/api/v1/mcps", body, key="wrong"), 401, "UNAUTHENTICATED")


def test_what_is_stored_of_an_answer_is_not_readable(api: Api) -> None:
    secret = answer(post(api, f"{api.project}/keys", {"name": "findable"}, "unfindable"), 201)[
        "api_key"
    ]
    with api.parts.postgres.database.transaction() as tx:
        rows = tx.run("SELECT key_hash, request_hash, answer FROM idempotency_key")
    stored = b"".join(bytes(part) for row in rows for part in row if part is not None)
    for text in (secret, "findable", "api_key", "unfindable", api.key):
        assert text.encode() not in stored


@pytest.mark.parametrize("key", ["", " ", "a b", "é", "x" * 256])
def test_a_key_that_is_none_is_refused(api: Api, key: str) -> None:
    body = {"project_id": api.project_id, "name": "x"}
    headers = {b"idempotency-key": key.encode()}
    response = api.http.post(
        "/api/v1/mcps",
        json=body,
        headers={b"authorization": f"Bearer {api.key}".encode(), **headers},
    )
    problem(response, 422, "INVALID_INPUT")


def test_of_duplicates_at_the_same_time_one_is_executed(api: Api) -> None:
    idempotency = Idempotency(api.parts.store)
    request = IdempotentRequest(api.project_id, api.key, "together", "POST /x", b"{}")
    begun, finish = threading.Event(), threading.Event()
    executed: list[str] = []

    def slowly() -> bytes:
        executed.append("once")
        begun.set()
        assert finish.wait(30)
        return b"done"

    def never() -> bytes:
        executed.append("again")
        return b"again"

    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(idempotency.answer, request, slowly)
        assert begun.wait(30)
        with pytest.raises(IdempotencyKeyInUseError) as refused:
            idempotency.answer(request, never)
        finish.set()
        assert first.result(30) == (b"done", False)
    assert refused.value.retry_after_s == 1
    assert idempotency.answer(request, never) == (b"done", True)
    assert executed == ["once"]


def test_an_answer_is_kept_for_a_day(api: Api) -> None:
    body = {"project_id": api.project_id, "name": "x"}
    first = answer(post(api, "/api/v1/mcps", body), 201)
    with api.parts.postgres.database.transaction() as tx:
        tx.run("UPDATE idempotency_key SET created_at = created_at - interval '25 hours'")
    assert answer(post(api, "/api/v1/mcps", body), 201)["id"] != first["id"]


def test_another_query_is_another_request(api: Api) -> None:
    table = api.table({"a": english(200)})
    tool = api.tool(table)
    api.tool(table)  # needs the same chunks
    clear = f"/api/v1/tools/{tool['tool_id']}/search-index/clear?shared"
    first = post(api, f"{clear}=true", None)
    assert len(answer(first, 200)["tools"]) == 2
    problem(post(api, f"{clear}=false", None), 422, "IDEMPOTENCY_KEY_REUSED")
    again = post(api, f"{clear}=true", None)
    assert (again.content, again.headers[REPLAYED]) == (first.content, "true")
