"""What the claims of a token open, and whose word is taken for them."""

from __future__ import annotations

import pytest

from context_search.access.keys import MCP_PREFIX, new_key
from context_search.core.callers import Token, caller_of_claims, is_safe_address, looks_like_token
from context_search.core.errors import UnauthenticatedError


@pytest.mark.parametrize("claim", [1, "1", 2**63 - 1, str(2**63 - 1)])
def test_a_project_is_named_by_a_number_or_its_text(claim: object) -> None:
    assert caller_of_claims({"project_id": claim}, "project_id").project_id == int(str(claim))


@pytest.mark.parametrize(
    "claim",
    [
        *(None, True, False, 0, -1, 1.0, 1.5, 2**63, [1], ["1"], {"id": 1}),
        *("", "0", "01", "-1", "+1", " 1", "1 ", "1\n", "1.0", "1e3", "abc", "٣"),
        *(str(2**63), "9" * 30),
    ],
    ids=repr,
)
def test_nothing_else_names_a_project(claim: object) -> None:
    with pytest.raises(UnauthenticatedError, match="names no project"):
        caller_of_claims({"project_id": claim, "scope": "search"}, "project_id")


def test_a_token_without_the_claim_is_of_no_project() -> None:
    with pytest.raises(UnauthenticatedError):
        caller_of_claims({"project_id": 1}, "https://search.example/project")


def test_the_claim_may_be_called_otherwise() -> None:
    claims = {"https://search.example/project": "7", "project_id": 8}
    assert caller_of_claims(claims, "https://search.example/project").project_id == 7


@pytest.mark.parametrize(
    ("claims", "permissions"),
    [
        ({"scope": "search"}, {"search"}),
        ({"scope": "search manage", "aud": "https://search.example"}, {"search", "manage"}),
        ({"scope": "search manage replace", "aud": "https://search.example/mcp"}, {"search"}),
        ({"scope": "search manage", "aud": ["api", "https://search.example/mcp/"]}, {"search"}),
        ({"scope": "manage", "aud": "https://search.example/mcp"}, set[str]()),
        ({"scope": "manage", "aud": "https://mcp.example/api"}, {"manage"}),
        ({"scope": "openid search profile manage"}, {"search", "manage"}),
        ({"scope": "replace  search"}, {"search", "replace"}),
        ({"scp": ["search", "manage"]}, {"search", "manage"}),
        ({"scp": "search manage"}, {"search", "manage"}),
        ({"scope": ["search"]}, {"search"}),
        ({"scope": "search", "scp": ["manage"]}, {"search"}),
        ({"scope": "", "scp": ["manage"]}, set[str]()),
        ({"scope": "SEARCH Manage searching search,manage"}, set[str]()),
        ({"scope": "*"}, set[str]()),
        ({"scope": None}, set[str]()),
        ({"scope": True}, set[str]()),
        ({"scp": {"search": True}}, set[str]()),
        ({"scp": [["search"], {"a": 1}, None, 5]}, set[str]()),
        ({}, set[str]()),
    ],
)
def test_only_our_scopes_count(claims: dict[str, object], permissions: set[str]) -> None:
    caller = caller_of_claims({"project_id": 1, **claims}, "project_id")
    assert caller == Token(1, frozenset(permissions))  # type: ignore[arg-type]


def test_a_key_is_never_taken_for_a_token() -> None:
    assert not any(looks_like_token(new_key().text) for _ in range(50))
    assert not any(looks_like_token(new_key(MCP_PREFIX).text) for _ in range(50))


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        *(("a.b.c", True), ("a.b.", True), ("a-_.b9.c", True)),
        *(("a.b", False), ("a..c", False), ("a.b.c.d", False), (".b.c", False)),
        *(("a.b.c=", False), ("a b.c.d", False), ("a.b.c\n", False)),
    ],
)
def test_a_token_has_three_parts(text: str, is_one: bool) -> None:  # noqa: FBT001
    assert looks_like_token(text) is is_one


@pytest.mark.parametrize(
    ("url", "is_safe"),
    [
        ("https://issuer.example", True),
        ("https://issuer.example:8443/tenant/", True),
        ("https://issuer.example/keys?appid=1", True),
        ("http://127.0.0.1:8000", True),
        ("http://localhost:8000/", True),
        ("http://[::1]:8000", True),
        ("http://issuer.example", False),
        ("http://127.0.0.1.issuer.example", False),
        ("http://127.0.0.1@issuer.example", False),
        ("https://user:word@issuer.example", False),
        ("https://", False),
        ("https://[", False),
        ("https://issuer.example/#a", False),
        ("ftp://127.0.0.1", False),
        ("file:///etc/passwd", False),
        ("issuer.example", False),
        ("", False),
    ],
)
def test_an_address_is_https_or_on_this_machine(url: str, is_safe: bool) -> None:  # noqa: FBT001
    assert is_safe_address(url) is is_safe
