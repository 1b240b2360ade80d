"""Keys over HTTP: made, shown once, listed, revoked, rotated."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from context_search.integrations.ports import Deadline
from tests.web.api import Api, LocalParts, answer, lifetime_s, problem

ALL = ["search", "manage", "replace"]


def keys_of(api: Api, owner: str) -> list[dict[str, Any]]:
    keys: list[dict[str, Any]] = answer(api("GET", f"/api/v1/{owner}/keys"), 200)["keys"]
    return keys


def owner_of(api: Api, kind: str) -> str:
    """The path of a project, or of an MCP instance of it."""
    return f"projects/{api.project_id}" if kind == "project" else f"mcps/{api.mcp()['id']}"


def is_good(api: Api, key: str) -> bool:
    """Whether a key is somebody's (the route may still not be for it)."""
    response = api("GET", f"{api.project}/keys", key=key)
    assert response.status_code in {200, 401, 403}
    return response.status_code != 401


both = pytest.mark.parametrize("kind", ["project", "mcp"])


def test_the_first_key_of_a_project_may_do_everything_and_is_listed(api: Api) -> None:
    [key] = keys_of(api, f"projects/{api.project_id}")
    assert key["scopes"] == ALL
    assert key["prefix"] == api.key[:11]
    assert (key["name"], key["expires_at"], key["revoked_at"]) == (None, None, None)
    assert key["last_used_at"] is not None


@both
def test_a_key_is_shown_once_and_has_256_random_bits(api: Api, kind: str) -> None:
    owner = owner_of(api, kind)
    made = answer(api("POST", f"/api/v1/{owner}/keys", json={"name": "ci"}), 201)
    beginning = "cs_" if kind == "project" else "cs_mcp_"
    assert made["api_key"].startswith(beginning)
    assert len(base64.urlsafe_b64decode(made["api_key"].removeprefix(beginning) + "=")) == 32
    assert made["prefix"] == made["api_key"][: len(beginning) + 8]
    assert made["scopes"] == (ALL if kind == "project" else ["search"])
    shown = made.pop("api_key")
    assert keys_of(api, owner)[-1] == made
    response = api("GET", f"/api/v1/{owner}/keys")
    assert shown not in response.text


def test_only_a_hash_of_a_key_is_stored(api: Api) -> None:
    secret = api.new_key()["api_key"].removeprefix("cs_")
    with api.parts.postgres.database.transaction() as tx:
        rows = tx.run("SELECT CAST(api_key AS text) FROM api_key")
    assert rows
    assert not any(secret in row for [row] in rows)
    assert not any(secret.encode().hex() in row for [row] in rows)


def test_a_key_has_the_scopes_that_were_asked_for_in_one_order(api: Api) -> None:
    made = api.new_key(scopes=["manage", "search", "manage"])
    assert made["scopes"] == ["search", "manage"]


def test_a_key_gives_no_scope_that_it_has_not(api: Api) -> None:
    path = f"{api.project}/keys"
    modest = api.new_key(scopes=["manage"])["api_key"]
    assert answer(api("POST", path, key=modest, json={}), 201)["scopes"] == ["manage"]
    body = {"scopes": ["manage", "replace"]}
    problem(api("POST", path, key=modest, json=body), 403, "PERMISSION_DENIED")
    [first, *_] = keys_of(api, f"projects/{api.project_id}")
    response = api("POST", f"{path}/{first['id']}/rotate", key=modest)
    problem(response, 403, "PERMISSION_DENIED")
    assert is_good(api, api.key)


@pytest.mark.parametrize(
    "body",
    [
        {"scopes": []},
        {"scopes": ["everything"]},
        {"scopes": "manage"},
        {"expires_in": 0},
        {"expires_in": "60"},
        {"expires_in": 10**10},
        {"name": ""},
        {"name": "a\u202eb"},
        {"api_key": "cs_mine"},
        {"kind": "other"},
        {"kind": None},
        {"kind": "console", "expires_in": 28_801},
    ],
    ids=repr,
)
def test_a_key_that_cannot_be_is_refused(api: Api, body: dict[str, Any]) -> None:
    path = f"{api.project}/keys"
    problem(api("POST", path, json=body), 422, "INVALID_INPUT")
    problem(api("GET", path, params={"kind": "x"}), 422, "INVALID_INPUT")
    of_instance = f"/api/v1/{owner_of(api, 'mcp')}/keys"
    problem(api("POST", of_instance, json={"kind": "console"}), 422, "INVALID_INPUT")


@both
def test_a_revoked_key_is_worthless_at_once(api: Api, kind: str) -> None:
    owner = owner_of(api, kind)
    made = answer(api("POST", f"/api/v1/{owner}/keys", json={}), 201)
    assert is_good(api, made["api_key"])
    path = f"/api/v1/{owner}/keys/{made['id']}"
    assert api("DELETE", path).status_code == 204
    assert not is_good(api, made["api_key"])
    revoked = keys_of(api, owner)[-1]
    assert (revoked["id"], revoked["revoked_at"] is None) == (made["id"], False)
    assert api("DELETE", path).status_code == 204  # again, for what it has made
    assert keys_of(api, owner)[-1] == revoked
    problem(api("POST", f"{path}/rotate"), 404, "NOT_FOUND")


@both
def test_rotation_leaves_the_old_key_good_for_a_while(api: Api, kind: str) -> None:
    owner = owner_of(api, kind)
    old = answer(api("POST", f"/api/v1/{owner}/keys", json={"name": "ci"}), 201)
    path = f"/api/v1/{owner}/keys/{old['id']}/rotate"
    new = answer(api("POST", path), 201)
    assert new["api_key"] != old["api_key"]
    assert [new[name] for name in ("name", "scopes", "expires_at")] == [
        old[name] for name in ("name", "scopes", "expires_at")
    ]
    assert is_good(api, old["api_key"])
    assert is_good(api, new["api_key"])
    listed = {key["id"]: key for key in keys_of(api, owner)}
    assert listed[old["id"]]["expires_at"] is not None
    answer(api("POST", path, json={"old_expires_in": 0}), 201)
    assert not is_good(api, old["api_key"])
    assert is_good(api, new["api_key"])


def test_many_keys_come_in_pages(api: Api) -> None:
    made = [api.key[:11]] + [api.new_key()["prefix"] for _ in range(101)]
    path = f"{api.project}/keys"
    first = answer(api("GET", path), 200)
    rest = answer(api("GET", path, params={"cursor": first["cursor"]}), 200)
    assert [key["prefix"] for key in first["keys"] + rest["keys"]] == made
    assert (len(first["keys"]), rest["cursor"]) == (100, None)


def test_the_internal_secret_makes_the_first_key_of_any_project(api: Api) -> None:
    path = f"{api.project}/keys"
    for key in keys_of(api, f"projects/{api.project_id}"):  # the last one by itself
        assert api("DELETE", f"{path}/{key['id']}").status_code == 204
    problem(api("GET", path), 401, "UNAUTHENTICATED")
    made = answer(api.internally("POST", path, json={"name": "again"}), 201)
    assert (made["scopes"], made["name"], made["expires_at"]) == (ALL, "again", None)
    shown = answer(api("GET", path, key=made["api_key"]), 200)["keys"]
    assert [key["revoked_at"] is None for key in shown] == [False, True]
    some = answer(api.internally("POST", path, json={"scopes": ["search"]}), 201)
    assert some["scopes"] == ["search"]
    nowhere = "/api/v1/projects/999999999/keys"
    problem(api.internally("POST", nowhere, json={}), 404, "NOT_FOUND")


def listed(api: Api, **query: str) -> list[int]:
    return [
        key["id"] for key in answer(api("GET", f"{api.project}/keys", params=query), 200)["keys"]
    ]


def test_a_key_of_the_console_is_short_lived_and_listed_apart(api: Api) -> None:
    [first] = listed(api)
    made = api.new_key(kind="console")
    assert (made["kind"], made["scopes"]) == ("console", ALL)
    assert lifetime_s(made) == 8 * 3_600
    assert listed(api) == listed(api, kind="standard") == [first]
    assert listed(api, kind="console") == [made["id"]]
    assert listed(api, kind="all") == [first, made["id"]]
    short = api.new_key(kind="console", expires_in=60, scopes=["search"])
    assert listed(api, kind="console") == [made["id"], short["id"]]
    rotated = answer(api("POST", f"{api.project}/keys/{short['id']}/rotate"), 201)
    assert (rotated["kind"], lifetime_s(rotated)) == ("console", 60)
    assert is_good(api, made["api_key"])
    gone = f"{api.project}/keys/{made['id']}"
    assert api("DELETE", gone).status_code == 204
    assert not is_good(api, made["api_key"])


def test_a_wrong_optional_field_is_named_once_and_without_its_type(api: Api) -> None:
    for scopes, field in (([], "body.scopes"), (["root"], "body.scopes.0"), (5, "body.scopes")):
        reported = problem(
            api("POST", f"{api.project}/keys", json={"scopes": scopes}), 422, "INVALID_INPUT"
        )
        assert [each["field"] for each in reported["errors"]] == [field]


def test_cleanup_forgets_keys_of_the_console_a_day_after_their_end(
    api: Api, parts: LocalParts
) -> None:
    made = api.new_key(kind="console")
    deadline = Deadline(parts.clock, parts.clock.monotonic() + 120)
    for hours, left in ((23, [made["id"]]), (25, [])):
        with parts.postgres.database.transaction() as tx:
            tx.run(
                "UPDATE api_key SET expires_at = clock_timestamp() - make_interval(hours => :ago)"
                " WHERE id = :key",
                ago=hours,
                key=made["id"],
            )
        assert parts.use_cases.cleanup.run(deadline).errors == []
        assert listed(api, kind="console") == left


def revoke(api: Api, key_id: int, key: str | None = None) -> None:
    assert api("DELETE", f"{api.project}/keys/{key_id}", key=key).status_code == 204


def made_with(api: Api, key: dict[str, Any], **body: Any) -> dict[str, Any]:
    made: dict[str, Any] = answer(
        api("POST", f"{api.project}/keys", key=key["api_key"], json=body), 201
    )
    assert made["made_by"] == key["id"]
    return made


def test_nothing_is_left_of_a_key_that_leaked(api: Api) -> None:
    leaked = api.new_key()
    theirs = made_with(api, made_with(api, leaked, kind="console"))
    rotation = f"{api.project}/keys/{leaked['id']}/rotate"
    successor = answer(api("POST", rotation, key=leaked["api_key"]), 201)
    revoke(api, leaked["id"])
    assert not any(is_good(api, key["api_key"]) for key in (leaked, theirs, successor))


def test_who_rotated_a_key_with_itself_revokes_the_old_one_with_the_new_one(api: Api) -> None:
    old = api.new_key()
    rotation = f"{api.project}/keys/{old['id']}/rotate"
    new = answer(api("POST", rotation, key=old["api_key"]), 201)
    child, others = made_with(api, new), made_with(api, old)
    revoke(api, old["id"], key=new["api_key"])
    good = [is_good(api, key["api_key"]) for key in (old, new, child, others)]
    assert good == [False, True, True, False]
