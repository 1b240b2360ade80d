"""Who changed something, as it is kept with the change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from context_search.access.authenticate import KeyAuthenticator, TokenAuthenticator
from context_search.catalog.tables import ManageTables
from context_search.core.callers import McpKey, Operator, ProjectKey
from tests.contract.store.bench import PostgresBench


@dataclass(frozen=True)
class Claims:
    """An issuer whose tokens are all genuine: the token is the subject."""

    project_id: int

    def claims_of(self, token: str) -> Mapping[str, object]:
        claims = {"project_id": self.project_id, "scope": "manage"}
        return claims | ({"sub": token} if token else {})


def test_a_key_is_named_by_its_id(bench: PostgresBench) -> None:
    project, key = ManageTables(bench.store).create_project("p")
    caller = KeyAuthenticator(bench.store).caller_of(key.text)
    assert caller == ProjectKey(project.id, key_id=key.key.id)
    assert caller.actor == f"key:{key.key.id}"
    assert ProjectKey(1).actor is None
    assert McpKey(1, 3).actor == "mcp:3"
    assert Operator(1).actor == "internal"


def test_a_token_is_named_by_a_keyed_hash_of_its_subject(bench: PostgresBench) -> None:
    project, _ = ManageTables(bench.store).create_project("p")
    one, other = (
        TokenAuthenticator(bench.store, lambda: Claims(project.id), "project_id", secret)
        for secret in ("a secret", "another secret")
    )
    actor = one.caller_of("lin@example.org").actor
    assert actor == one.caller_of("lin@example.org").actor
    assert actor not in {one.caller_of("lan@example.org").actor, "token"}
    assert actor != other.caller_of("lin@example.org").actor
    assert "lin" not in actor
    assert len(actor) == len("token:") + 16
    assert one.caller_of("").actor == "token"
