"""Who may do what: every route of the contract, with no key, a wrong one, and a stranger's."""

from __future__ import annotations

from typing import Any

import pytest

from context_search.services.keys import key_hash
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


def body_of(path: str, api: Api, ids: dict[str, int]) -> Any:
    """A body that is right in everything but whose things it names."""
    if path.endswith(QUERIES):
        return {"query": "harbour"}
    if path.endswith(("/data", "/retrieval-settings")):
        return {}
    return {"project_id": ids["project_id"], "table_id": ids["table_id"], "name": "x", "data": 1}


def filled(path: str, ids: dict[str, int]) -> str:
    """A path with the ids in their places."""
    for name, number in ids.items():
        path = path.replace(f"{{{name}}}", str(number))
    assert "{" not in path
    return path


def things_of(api: Api) -> dict[str, int]:
    """The ids of a project with everything in it."""
    table = api.table({"a": english(200)})
    tool = api.tool(table)
    return {"project_id": api.project_id, "table_id": table["id"], "tool_id": tool["tool_id"]}


MISSING = {"project_id": 2**62, "table_id": 2**62, "tool_id": 2**62}


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
        method, filled(path, MISSING), headers=headers, json=body_of(path, api, MISSING)
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
        stranger(method, filled(path, numbers), json=body_of(path, stranger, numbers))
        for numbers in (ids, MISSING)
    ]
    foreign, missing = (problem(response, 404, "NOT_FOUND") for response in answers)
    assert foreign == missing
    assert api("GET", f"/api/v1/tools/{ids['tool_id']}").status_code == 200  # nothing was done


@pytest.mark.parametrize(("method", "path"), [pair for pair in WITH_ID if pair in TRUSTED])
def test_trusted_services_get_404_for_what_is_missing(api: Api, method: str, path: str) -> None:
    body = body_of(path, api, MISSING) if path.endswith(QUERIES) else None
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


def test_a_revoked_key_is_no_key(api: Api) -> None:
    table = api.table(1)
    with api.parts.store.database.transaction() as tx:
        tx.run("UPDATE api_key SET revoked_at = now() WHERE project_id = :id", id=api.project_id)
    problem(api("GET", f"/api/v1/tables/{table['id']}"), 401, "UNAUTHENTICATED")


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
    key = "cs_" + "m" * 43
    with api.parts.store.database.transaction() as tx:
        tx.run(
            """
            INSERT INTO mcp (project_id, name, api_key_hash) VALUES (:id, 'agents', :hash)
            ON CONFLICT DO NOTHING
            """,
            id=api.project_id,
            hash=key_hash(key),
        )
    headers = {"authorization": f"Bearer {key}"}
    ids = things_of(api)
    response = api.http.request(
        method, filled(path, ids), headers=headers, json=body_of(path, api, ids)
    )
    problem(response, 403, "PERMISSION_DENIED")
