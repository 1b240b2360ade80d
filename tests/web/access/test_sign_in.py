"""A browser signs in with a code from a terminal: once, soon, and with no more than its maker."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest

from tests.web.access.stores import state_without
from tests.web.access.things import Tenant
from tests.web.api import Api, LocalParts, answer, lifetime_s, problem

CODES, SIGN_IN = "/api/v1/console/codes", "/api/v1/console/sign-in"


def code_of(api: Api, key: str | None = None) -> str:
    code: str = answer(api("POST", CODES, key=key or api.key), 201)["code"]
    return code


def use(api: Api, code: str) -> httpx2.Response:
    """As the page does it: without any key."""
    return api.http.post(SIGN_IN, json={"code": code})


def test_a_code_becomes_a_key_of_the_console_once(stranger: Tenant) -> None:
    api = stranger.api
    code = code_of(api)
    made = answer(use(api, code), 201)
    assert (made["kind"], made["scopes"]) == ("console", ["search", "manage", "replace"])
    assert lifetime_s(made) == 8 * 3_600
    reported = answer(api("GET", "/api/v1/whoami", key=made["api_key"]), 200)
    assert reported["project"]["id"] == api.project_id
    again = problem(use(api, code), 401, "UNAUTHENTICATED")
    unknown = problem(use(api, "x" * 43), 401, "UNAUTHENTICATED")
    assert {**again, "requestId": ""} == {**unknown, "requestId": ""}


def test_a_code_is_good_for_five_minutes(stranger: Tenant) -> None:
    made = answer(stranger.api("POST", CODES), 201)
    key = stranger.api.new_key(expires_in=300)
    apart = datetime.fromisoformat(made["expires_at"]) - datetime.fromisoformat(key["expires_at"])
    assert abs(apart) < timedelta(seconds=30)


def test_a_code_gives_no_more_than_its_maker_has_and_ends_with_it(stranger: Tenant) -> None:
    api = stranger.api
    maker = api.new_key(scopes=["manage"], expires_in=900)
    made = answer(use(api, code_of(api, maker["api_key"])), 201)
    assert (made["scopes"], made["expires_at"]) == (["manage"], maker["expires_at"])


def test_a_code_is_no_key_and_a_key_no_code(stranger: Tenant) -> None:
    api = stranger.api
    code = code_of(api)
    problem(api("GET", "/api/v1/whoami", key=code), 401, "UNAUTHENTICATED")
    problem(use(api, api.key), 401, "UNAUTHENTICATED")
    answer(use(api, code), 201)


@pytest.mark.parametrize("code", ["", "a" * 65, "a b", "\ud800", "密", 7, None], ids=ascii)
def test_what_cannot_be_a_code_is_refused(stranger: Tenant, code: Any) -> None:
    body = b'{"code": "\\ud800"}' if code == "\ud800" else None
    sent: dict[str, Any] = {"json": {"code": code}} if body is None else {"content": body}
    headers = {"content-type": "application/json"}
    assert stranger.api.http.post(SIGN_IN, headers=headers, **sent).status_code in {400, 422}


def test_a_code_is_stored_as_a_hash_and_logged_nowhere(
    stranger: Tenant, parts: LocalParts, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    code = code_of(stranger.api)
    assert code not in str(state_without(parts, 2**62))
    answer(use(stranger.api, code), 201)
    problem(use(stranger.api, code), 401, "UNAUTHENTICATED")
    assert code not in caplog.text
