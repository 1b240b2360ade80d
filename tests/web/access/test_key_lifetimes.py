"""No key makes one that lives longer or may do more: all scopes, lifetimes and ways."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import combinations
from typing import Any

import pytest

from tests.web.access.things import Tenant
from tests.web.api import Api, answer, lifetime_s, problem

SCOPES = ("search", "manage", "replace")
MANAGERS = [
    list(scopes)
    for size in (1, 2, 3)
    for scopes in combinations(SCOPES, size)
    if "manage" in scopes
]
LIFETIME_S = 5_000
Made = tuple[int, dict[str, Any]]


def _post(api: Api, key: str, path: str, body: dict[str, Any]) -> Made:
    response = api("POST", path, key=key, json=body)
    return response.status_code, response.json()


def new_key(api: Api, key: str, more: dict[str, Any]) -> Made:
    return _post(api, key, f"{api.project}/keys", more)


def rotated_key(api: Api, key: str, _: dict[str, Any]) -> Made:
    keys = f"{api.project}/keys"
    mine = next(k for k in answer(api("GET", keys), 200)["keys"] if key.startswith(k["prefix"]))
    return _post(api, key, f"{keys}/{mine['id']}/rotate", {})


def rotated_key_of_others(api: Api, key: str, _: dict[str, Any]) -> Made:
    other = api.new_key(scopes=["manage"])
    return _post(api, key, f"{api.project}/keys/{other['id']}/rotate", {})


def new_mcp(api: Api, key: str, _: dict[str, Any]) -> Made:
    status, made = _post(api, key, "/api/v1/mcps", {"project_id": api.project_id, "name": "m"})
    if status != 201:
        return status, made
    return status, answer(api("GET", f"/api/v1/mcps/{made['id']}/keys"), 200)["keys"][-1]


def new_mcp_key(api: Api, key: str, more: dict[str, Any]) -> Made:
    return _post(api, key, f"/api/v1/mcps/{api.mcp()['id']}/keys", more)


def rotated_mcp_key(api: Api, key: str, _: dict[str, Any]) -> Made:
    keys = f"/api/v1/mcps/{api.mcp()['id']}/keys"
    [first] = answer(api("GET", keys), 200)["keys"]
    return _post(api, key, f"{keys}/{first['id']}/rotate", {})


WAYS: list[Callable[[Api, str, dict[str, Any]], Made]] = [
    new_key,
    rotated_key,
    rotated_key_of_others,
    new_mcp,
    new_mcp_key,
    rotated_mcp_key,
]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
every_manager = pytest.mark.parametrize("scopes", MANAGERS, ids="+".join)


@every_way
@every_manager
@pytest.mark.parametrize("lifetime_s", [None, LIFETIME_S], ids=["for ever", "for a while"])
def test_what_a_key_makes_is_within_it(
    stranger: Tenant,
    way: Callable[[Api, str, dict[str, Any]], Made],
    scopes: list[str],
    lifetime_s: int | None,
) -> None:
    api = stranger.api
    body = {"scopes": scopes} | ({} if lifetime_s is None else {"expires_in": lifetime_s})
    maker = api.new_key(**body)
    status, made = way(api, maker["api_key"], {})
    if "mcp" in way.__name__ and "search" not in scopes:
        assert (status, made["code"]) == (403, "PERMISSION_DENIED")
        return
    assert status == 201, made
    assert set(made["scopes"]) <= set(scopes)
    if lifetime_s is None:
        assert made["expires_at"] is None
    else:
        ends = datetime.fromisoformat(made["expires_at"])
        assert ends <= datetime.fromisoformat(maker["expires_at"])


@pytest.mark.parametrize("way", [new_key, new_mcp_key], ids=lambda way: way.__name__)
def test_a_longer_life_than_its_own_is_refused_and_a_shorter_one_given(
    stranger: Tenant, way: Callable[[Api, str, dict[str, Any]], Made]
) -> None:
    api = stranger.api
    maker = api.new_key(expires_in=LIFETIME_S)
    for more in (1, 60, 10 * 31_536_000 - LIFETIME_S):
        status, refused = way(api, maker["api_key"], {"expires_in": LIFETIME_S + more})
        assert (status, refused["code"]) == (403, "PERMISSION_DENIED")
    status, made = way(api, maker["api_key"], {"expires_in": 60})
    assert status == 201
    assert lifetime_s(made) == 60


def session_of(api: Api, maker: str) -> dict[str, Any]:
    status, made = new_key(api, maker, {"kind": "console"})
    assert status == 201
    return made


@pytest.mark.parametrize("way", [new_mcp, new_mcp_key, rotated_mcp_key], ids=lambda w: w.__name__)
def test_an_agents_key_outlives_the_session_that_makes_it(
    stranger: Tenant, way: Callable[[Api, str, dict[str, Any]], Made]
) -> None:
    """It belongs to the key behind the session, also behind two, and ends with it."""
    api = stranger.api
    maker = api.new_key(expires_in=30 * 86_400)
    session = session_of(api, session_of(api, maker["api_key"])["api_key"])
    status, made = way(api, session["api_key"], {})
    assert status == 201
    assert made["made_by"] == maker["id"]
    ends = datetime.fromisoformat(made["expires_at"])
    assert datetime.fromisoformat(session["expires_at"]) < ends
    assert ends <= datetime.fromisoformat(maker["expires_at"])
    keys = f"{api.project}/keys"
    api("DELETE", f"{keys}/{session['id']}")
    assert _revoked(api, made) == [False]
    api("DELETE", f"{keys}/{maker['id']}")
    assert _revoked(api, made) == [True]


def _revoked(api: Api, made: dict[str, Any]) -> list[bool]:
    mcps = answer(api("GET", "/api/v1/mcps"), 200)["mcps"]
    pages = [answer(api("GET", f"/api/v1/mcps/{mcp['id']}/keys"), 200) for mcp in mcps]
    keys = [key for page in pages for key in page["keys"]]
    return [key["revoked_at"] is not None for key in keys if key["id"] == made["id"]]


def test_a_session_gives_an_agent_no_more_than_it_has(stranger: Tenant) -> None:
    api = stranger.api
    maker = api.new_key()
    wanted = {"kind": "console", "scopes": ["search", "manage"]}
    _, session = new_key(api, maker["api_key"], wanted)
    body = {"project_id": api.project_id, "name": "m", "replace": "execute"}
    refused = api("POST", "/api/v1/mcps", key=session["api_key"], json=body)
    problem(refused, 403, "PERMISSION_DENIED")


def test_an_instance_is_made_with_a_key_for_a_while(stranger: Tenant) -> None:
    api = stranger.api
    body = {"project_id": api.project_id, "name": "m", "key_expires_in": 60}
    made = answer(api("POST", "/api/v1/mcps", json=body), 201)
    [key] = answer(api("GET", f"/api/v1/mcps/{made['id']}/keys"), 200)["keys"]
    assert key["expires_at"] == made["key_expires_at"]
    assert lifetime_s(key) == 60
    short = api.new_key(expires_in=30)["api_key"]
    problem(api("POST", "/api/v1/mcps", key=short, json=body), 403, "PERMISSION_DENIED")
