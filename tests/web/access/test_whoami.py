"""What a client is told first: whose key it has, what that permits, what is here."""

from __future__ import annotations

from datetime import datetime

import pytest

from context_search import __version__
from tests.web.api import Api, LocalParts, answer

WHOAMI = "/api/v1/whoami"


def test_a_key_is_told_what_it_is(api: Api) -> None:
    reported = answer(api("GET", WHOAMI), 200)
    assert reported["project"] == {"id": api.project_id, "name": "test"}
    assert (reported["kind"], reported["expires_at"]) == ("key", None)
    assert reported["scopes"] == ["search", "manage", "replace"]
    assert api.key.startswith(reported["key"]["prefix"])
    assert (reported["version"], reported["token_issuer"]) == (__version__, None)
    assert reported["model"] == {
        "name": "in-memory/words",
        "dimensions": 64,
        "window_tokens": 250,
        "price": None,
    }
    assert reported["limits"]["body_bytes"] == 6_000_000
    assert api.key not in api("GET", WHOAMI).text


@pytest.mark.parametrize("scope", ["search", "manage", "replace"])
def test_a_key_of_any_scope_is_told_its_own(api: Api, scope: str) -> None:
    made = api.new_key(name="one", scopes=[scope], expires_in=600)
    reported = answer(api("GET", WHOAMI, key=made["api_key"]), 200)
    assert (reported["scopes"], reported["key"]["id"], reported["key"]["name"]) == (
        [scope],
        made["id"],
        "one",
    )
    assert datetime.fromisoformat(reported["expires_at"]) == datetime.fromisoformat(
        made["expires_at"]
    )


def test_features_say_what_is_on(api: Api, parts: LocalParts) -> None:
    before = answer(api("GET", WHOAMI), 200)["features"]
    assert before == {
        "console": True,
        "project_search": False,
        "uploads": False,
        "reranking": True,
        "tokens": False,
    }
    answer(api("POST", f"{api.project}/search-index"), 202)
    parts.work()
    assert answer(api("GET", WHOAMI), 200)["features"] == {**before, "project_search": True}


def test_the_console_is_no_feature_where_it_is_not_served(api: Api, parts: LocalParts) -> None:
    served = parts.settings
    parts.settings = served.model_copy(update={"console": False})
    try:
        assert not answer(api("GET", WHOAMI), 200)["features"]["console"]
    finally:
        parts.settings = served
