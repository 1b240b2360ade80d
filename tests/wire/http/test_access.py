"""Who may do what: every route of the contract, with no key, a wrong one, and a stranger's."""

from __future__ import annotations

from typing import Any

import pytest

from context_search.wire.http.contract import contract
from tests.builders import english
from tests.wire.http.api import CANARY, OLD_SECRET, SECRET, Api, answer, problem

OPEN = {"/healthz", "/readyz"}
INTERNAL = {"/api/v1/projects"}
QUERIES = ("/search", "/explain", "/retrieve")
Operation = tuple[str, str]


def operations() -> list[Operation]:
    """(method, path) of everything in the contract."""
    return [
        (method.upper(), path)
        for path, methods in contract()["paths"].items()
        for method in methods
    ]


def is_internal(path: str) -> bool:
    return path.startswith("/internal/") or path in INTERNAL


PUBLIC = [pair for pair in operations() if pair[1] not in OPEN and not is_internal(pair[1])]
TRUSTED = [pair for pair in operations() if is_internal(pair[1])]
WITH_ID = [pair for pair in operations() if "{" in pair[1]]


def body_of(path: str, ids: dict[str, Any]) -> Any:
    """A body that is right in everything but whose things it names."""
    if path.endswith(QUERIES):
        return {"query": "harbour"}
    if path.endswith("/bindings"):
        return {"tool_id": ids["tool_id"]}
    if "/bindings/" in path or path.endswith("/uploads"):
        return {"status": True} if "/bindings/" in path else {"format": "json"}
    if path.endswith("/mcps"):
        return {"project_id": ids["project_id"], "name": "x"}
    if path.endswith(("/data", "/retrieval-settings", "/keys", "/rotate", "{mcp_id}")):
        return {}
    return {"project_id": ids["project_id"], "table_id": ids["table_id"], "name": "x", "data": 1}


def filled(path: str, ids: dict[str, Any]) -> str:
    """A path with the ids in their places."""
    for name, number in ids.items():
        path = path.replace(f"{{{name}}}", str(number))
    assert "{" not in path
    return path


def things_of(api: Api) -> dict[str, Any]:
    """The ids of a project with everything in it."""
    table = api.table({"a": english(200)})
    tool = api.tool(table)
    mcp = api.mcp(tool)
    keys = answer(api("GET", f"/api/v1/mcps/{mcp['id']}/keys"), 200)["keys"]
    upload = answer(
        api("POST", f"/api/v1/tables/{table['id']}/uploads", json={"format": "json"}), 201
    )
    return {
        "project_id": api.project_id,
        "table_id": table["id"],
        "tool_id": tool["tool_id"],
        "upload_id": upload["upload_id"],
        "mcp_id": mcp["id"],
        "key_id": keys[0]["id"],
        "api_key": mcp["api_key"],
    }


MISSING: dict[str, Any] = dict.fromkeys(["project_id", "table_id", "tool_id"], 2**62)
MISSING |= {"mcp_id": 2**62, "upload_id": 2**62, "key_id": 2**62, "api_key": CANARY}


def test_the_matrix_covers_the_api() -> None:
    assert len(PUBLIC) >= 10
    assert len(TRUSTED) >= 3


@pytest.mark.parametrize(("method", "path"), PUBLIC)
@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {CANARY}",
        "Bearer cs_" + "A" * 43,
        "Basic dXNlcjpwYXNz",
        "Bearer clé",
        f"Bearer {SECRET}",
    ],
    ids=repr,
)
def test_a_public_route_wants_a_good_key(
    api: Api, method: str, path: str, authorization: str | None
) -> None:
    headers = {} if authorization is None else {b"authorization": authorization.encode()}
    response = api.http.request(
        method, filled(path, MISSING), headers=headers, json=body_of(path, MISSING)
    )
    problem(response, 401, "UNAUTHENTICATED")
    assert response.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(("method", "path"), TRUSTED)
@pytest.mark.parametrize(
    "secret", [None, "", CANARY, SECRET[:-1], f"{SECRET}x", SECRET.upper(), "é"]
)
def test_an_internal_route_wants_the_secret_and_takes_no_key(
    api: Api, method: str, path: str, secret: str | None
) -> None:
    headers = {} if secret is None else {"x-internal-secret": secret.encode()}
    response = api(method, filled(path, MISSING), headers=headers, json={"name": "x", "query": "x"})
    problem(response, 401, "UNAUTHENTICATED")


@pytest.mark.parametrize("secret", [SECRET, OLD_SECRET])
def test_both_secrets_of_a_rotation_are_good(api: Api, secret: str) -> None:
    headers = {"x-internal-secret": secret}
    response = api.http.post("/api/v1/projects", headers=headers, json={"name": "x"})
    assert response.status_code == 201


@pytest.mark.parametrize(("method", "path"), [pair for pair in WITH_ID if pair in PUBLIC])
def test_what_is_a_strangers_looks_like_what_is_missing(api: Api, method: str, path: str) -> None:
    ids = things_of(api)
    stranger = api.stranger()
    answers = [
        stranger(method, filled(path, numbers), json=body_of(path, numbers))
        for numbers in (ids, MISSING)
    ]
    foreign, missing = (problem(response, 404, "NOT_FOUND") for response in answers)
    assert foreign == missing
    assert api("GET", f"/api/v1/tools/{ids['tool_id']}").status_code == 200  # nothing was done


@pytest.mark.parametrize(("method", "path"), [pair for pair in WITH_ID if pair in TRUSTED])
def test_trusted_services_get_404_for_what_is_missing(api: Api, method: str, path: str) -> None:
    body = body_of(path, MISSING) if path.endswith(QUERIES) else None
    # A project that is not there has no index either, and these routes are about the index.
    expected = (409, "PROJECT_INDEX_OFF") if "/search-index/" in path else (404, "NOT_FOUND")
    problem(api.internally(method, filled(path, MISSING), json=body), *expected)


@pytest.mark.parametrize("path", ["/api/v1/tables", "/api/v1/tools/search"])
def test_a_foreign_id_in_a_body_looks_like_a_missing_one(api: Api, path: str) -> None:
    ids = things_of(api)
    stranger = api.stranger()
    own = {"project_id": stranger.project_id, "table_id": stranger.table(1)["id"]}
    names = ["project_id", "table_id"] if path.endswith("search") else ["project_id"]
    more = {"name": "x"} if path.endswith("search") else {"name": "x", "data": "x"}
    for name in names:
        wanted = {key: own[key] for key in names}
        answers = [
            stranger("POST", path, json={**more, **wanted, name: number})
            for number in (ids[name], 2**62)
        ]
        foreign, missing = (problem(response, 404, "NOT_FOUND") for response in answers)
        assert foreign == missing


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_name_of_the_scheme_has_no_case(api: Api, scheme: str) -> None:
    table = api.table(1)
    headers = {"authorization": f"{scheme} {api.key}"}
    assert api.http.get(f"/api/v1/tables/{table['id']}", headers=headers).status_code == 200


def test_health_is_for_everybody(api: Api) -> None:
    assert answer(api.http.get("/healthz"), 200) == {"status": "ok"}
    assert answer(api.http.get("/readyz"), 200) == {"status": "ready"}


@pytest.mark.parametrize(("method", "path"), PUBLIC)
def test_the_key_of_an_mcp_instance_opens_no_route_but_mcp(
    api: Api, method: str, path: str
) -> None:
    ids = things_of(api)
    response = api(method, filled(path, ids), key=ids["api_key"], json=body_of(path, ids))
    problem(response, 403, "PERMISSION_DENIED")


READS = {("GET", "/api/v1/tools/{tool_id}"), ("GET", "/api/v1/tools/{tool_id}/search-index")}
READS |= {
    ("GET", f"/api/v1/projects/{{project_id}}/{name}")
    for name in ("retrieval-settings", "search-index")
}


def opened_by(method: str, path: str) -> set[str]:
    """The scopes any of which is enough for a route."""
    if (method, path) in READS:
        return {"search", "manage"}
    is_search = path.endswith(QUERIES) and path != "/api/v1/tools/search"  # that creates a tool
    return {"search"} if is_search else {"manage"}


@pytest.mark.parametrize(("method", "path"), PUBLIC)
def test_a_route_wants_a_key_with_its_scope(api: Api, method: str, path: str) -> None:
    for scope in ("search", "manage", "replace"):
        key = api.new_key(scopes=[scope])["api_key"]
        response = api(method, filled(path, MISSING), key=key, json=body_of(path, MISSING))
        if scope in opened_by(method, path):
            assert response.status_code not in {401, 403}, response.text
        else:
            assert scope not in problem(response, 403, "PERMISSION_DENIED")["detail"]


@pytest.mark.parametrize(("method", "path"), PUBLIC)
@pytest.mark.parametrize("how", ["revoked_at", "expires_at"])
def test_a_key_that_was_revoked_or_has_expired_opens_nothing(
    api: Api, method: str, path: str, how: str
) -> None:
    with api.parts.store.database.transaction() as tx:
        tx.run(f"UPDATE api_key SET {how} = now() WHERE project_id = :id", id=api.project_id)
    response = api(method, filled(path, MISSING), json=body_of(path, MISSING))
    problem(response, 401, "UNAUTHENTICATED")
