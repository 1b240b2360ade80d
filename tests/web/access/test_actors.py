"""Keys that are made with tokens: whose they are, how long they live, and how all of them end."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from context_search.postgres.pool import Database
from tests.issuer import Issuer
from tests.web.access.test_sign_in import code_of, use
from tests.web.access.test_tokens import project_token, taking_tokens
from tests.web.api import Api, LocalParts, answer, lifetime_s, problem

DAYS, DAY_S = 7, 86_400


@pytest.fixture(scope="module")
def parts(application_database: Database, turbopuffer_url: str, issuer: Issuer) -> LocalParts:
    """Takes tokens; what they make lives for a week."""
    parts = taking_tokens(LocalParts(application_database, turbopuffer_url), issuer)
    parts.settings = parts.settings.model_copy(update={"jwt_max_key_days": DAYS})
    return parts


@dataclass(frozen=True)
class Person:
    """Somebody with a token of the issuer, or with a key."""

    api: Api
    key: str

    @classmethod
    def with_token(cls, api: Api, issuer: Issuer, subject: str | None = None) -> Person:
        every = "search manage replace"
        return cls(api, project_token(issuer, api.project_id, sub=subject, scope=every))

    @property
    def keys(self) -> str:
        return f"{self.api.project}/keys"

    def __call__(self, method: str, path: str, **request: Any) -> httpx2.Response:
        return self.api(method, path, key=self.key, **request)

    def makes(self, **body: Any) -> dict[str, Any]:
        return answer(self("POST", self.keys, json=body), 201)

    def rotates(self, key: dict[str, Any]) -> dict[str, Any]:
        return answer(self("POST", f"{self.keys}/{key['id']}/rotate"), 201)


def listed(api: Api, **query: str) -> list[int]:
    found = answer(api("GET", f"{api.project}/keys", params=query), 200)
    return [key["id"] for key in found["keys"]]


def opens(api: Api, key: dict[str, Any]) -> bool:
    return api("GET", "/api/v1/whoami", key=key["api_key"]).status_code == 200


def test_a_key_says_who_made_it_with_a_token_and_with_what_was_made_so(
    api: Api, issuer: Issuer
) -> None:
    alice, bob = Person.with_token(api, issuer, "alice"), Person.with_token(api, issuer, "bob")
    nobody = Person.with_token(api, issuer)
    first = alice.makes()
    assert first["actor"].startswith("token:")
    assert "alice" not in first["actor"]
    assert (first["made_by"], alice.makes()["actor"]) == (None, first["actor"])
    child = Person(api, first["api_key"]).makes()
    assert (child["made_by"], child["actor"]) == (first["id"], first["actor"])
    assert bob.makes()["actor"] not in (first["actor"], None)
    assert nobody.makes()["actor"] == "token"
    assert api.new_key()["actor"] is None
    session = answer(use(api, code_of(api, alice.key)), 201)
    assert (session["kind"], session["actor"]) == ("console", first["actor"])
    assert first["id"] in listed(api, actor=first["actor"])
    assert session["id"] not in listed(api, actor=first["actor"])
    assert session["id"] in listed(api, actor=first["actor"], kind="all")


def test_the_documented_command_computes_the_actor(api: Api, issuer: Issuer) -> None:
    page = Path(__file__).parents[3] / "docs/deploy.md"
    [command] = re.findall(r"^printf 'actor .*$", page.read_text("utf-8"), re.MULTILINE)
    given = {"SUBJECT": "alice", "QUERY_HASH_KEY": api.parts.settings.query_hash_key}
    shell = ["sh", "-c", command]
    environment = {"PATH": os.defpath, **given}
    reported = subprocess.check_output(shell, env=environment, text=True)  # noqa: S603 - our own page
    assert reported.strip() == Person.with_token(api, issuer, "alice").makes()["actor"]


def test_a_rotated_key_stays_its_actors_until_another_takes_it_over(
    api: Api, issuer: Issuer
) -> None:
    alice, bob = Person.with_token(api, issuer, "alice"), Person.with_token(api, issuer, "bob")
    first = alice.makes()
    by_itself = Person(api, first["api_key"]).rotates(first)
    assert by_itself["actor"] == first["actor"]
    operators = answer(api("POST", f"{alice.keys}/{by_itself['id']}/rotate"), 201)
    assert operators["actor"] == first["actor"]
    assert lifetime_s(operators) <= DAYS * DAY_S
    assert bob.rotates(operators)["actor"] == bob.makes()["actor"]


def test_what_a_token_makes_ends_after_so_many_days(api: Api, issuer: Issuer) -> None:
    alice = Person.with_token(api, issuer, "alice")
    assert lifetime_s(alice.makes()) == DAYS * DAY_S
    assert lifetime_s(alice.makes(expires_in=60)) == 60
    at_most = alice.makes(expires_in=DAYS * DAY_S)
    assert lifetime_s(at_most) == DAYS * DAY_S
    assert lifetime_s(alice.rotates(api.new_key())) == DAYS * DAY_S
    assert api.new_key()["expires_at"] is None
    before = listed(api)
    refused = alice("POST", alice.keys, json={"expires_in": DAYS * DAY_S + 1})
    assert f"{DAYS * DAY_S} seconds" in problem(refused, 422, "INVALID_INPUT")["detail"]
    body = {"project_id": api.project_id, "name": "m"}
    longer = {**body, "key_expires_in": DAYS * DAY_S + 1}
    problem(alice("POST", "/api/v1/mcps", json=longer), 422, "INVALID_INPUT")
    assert listed(api) == before
    instance = answer(alice("POST", "/api/v1/mcps", json=body), 201)
    [key] = answer(api("GET", f"/api/v1/mcps/{instance['id']}/keys"), 200)["keys"]
    assert (lifetime_s(key), key["actor"]) == (DAYS * DAY_S, at_most["actor"])
    again = answer(alice("POST", f"/api/v1/mcps/{instance['id']}/keys", json={}), 201)
    assert lifetime_s(again) == DAYS * DAY_S


def test_all_keys_of_an_actor_end_together_and_no_others(api: Api, issuer: Issuer) -> None:
    alice, bob = Person.with_token(api, issuer, "alice"), Person.with_token(api, issuer, "bob")
    first, others, own = alice.makes(), bob.makes(), api.new_key()
    child = Person(api, first["api_key"]).makes()
    successor = Person(api, child["api_key"]).rotates(child)
    code = code_of(api, alice.key)
    body = {"project_id": api.project_id, "name": "m"}
    instance = answer(alice("POST", "/api/v1/mcps", json=body), 201)
    actor, path = {"actor": first["actor"]}, alice.keys
    revoked = answer(api("DELETE", path, params=actor), 200)
    assert revoked == {"revoked": 4}
    assert [opens(api, key) for key in (first, child, successor)] == [False] * 3
    assert [opens(api, key) for key in (others, own)] == [True] * 2
    mcp_keys = f"/api/v1/mcps/{instance['id']}/keys"
    [of_mcp] = answer(api("GET", mcp_keys, params=actor), 200)["keys"]
    bobs = {"actor": others["actor"]}
    assert answer(api("GET", mcp_keys, params=bobs), 200)["keys"] == []
    assert of_mcp["revoked_at"] is not None
    problem(use(api, code), 401, "UNAUTHENTICATED")
    assert answer(api("DELETE", path, params=actor), 200) == {"revoked": 0}


@pytest.mark.parametrize("actor", ["", "key:1", "internal", "token:", "token:ABC", "alice"])
def test_who_is_no_actor_of_tokens_is_refused(api: Api, actor: str) -> None:
    keys = f"{api.project}/keys"
    for method in ("GET", "DELETE"):
        problem(api(method, keys, params={"actor": actor}), 422, "INVALID_INPUT")
    problem(api("DELETE", keys), 422, "INVALID_INPUT")
