"""Every kind of key and secret that opens nothing."""

from __future__ import annotations

from typing import Any

from tests.web.access.things import Tenant
from tests.web.api import CANARY, OLD_SECRET, SECRET, Api, answer

Headers = dict[str, str | bytes]


def dead_keys(api: Api) -> dict[str, str]:
    """Texts of keys that were good once, by what became of them."""
    found = {}
    for kind, owner in (("project", f"projects/{api.project_id}"), ("mcp", "mcps/{}")):
        path = f"/api/v1/{owner.format(api.mcp()['id'])}/keys"
        for fate in ("revoked", "expired"):
            key = answer(api("POST", path, json={}), 201)
            if fate == "revoked":
                assert api("DELETE", f"{path}/{key['id']}").status_code == 204
            else:
                rotated = api("POST", f"{path}/{key['id']}/rotate", json={"old_expires_in": 0})
                assert rotated.status_code == 201
            found[f"{fate} {kind} key"] = key["api_key"]
    deleted, disabled = api.mcp(), api.mcp()
    assert api("DELETE", f"/api/v1/mcps/{deleted['id']}").status_code == 204
    answer(api("PATCH", f"/api/v1/mcps/{disabled['id']}", json={"status": False}), 200)
    return found | {
        "key of a deleted instance": deleted["api_key"],
        "key of a disabled instance": disabled["api_key"],
    }


def strange_keys(key: str) -> dict[str, str]:
    """Texts that were never a key, most of them almost one."""
    return {
        "unknown": "cs_" + "A" * 43,
        "unknown of an instance": "cs_mcp_" + "A" * 43,
        "no key": CANARY,
        "cut": key[:-1],
        "prefix": key[:11],
        "longer": f"{key}A",
        "other case": key.swapcase(),
        "other kind": key.replace("cs_", "cs_mcp_", 1),
        "two": f"{key},{key}",
        "quoted": f'"{key}"',
        "internal secret": SECRET,
        "wildcard": "%",
        "token where none are taken": "e30.e30.e30",
        "very long": "cs_" + "A" * 5_000,
    }


def bad_headers(tenant: Tenant) -> dict[str, Headers]:
    """Headers that hold no good key of anybody, by what is wrong."""
    key = tenant.api.key
    shaped: dict[str, Headers] = {
        "nothing": {},
        "empty": {"authorization": ""},
        "scheme only": {"authorization": "Bearer"},
        "no text": {"authorization": "Bearer "},
        "no scheme": {"authorization": key},
        "other scheme": {"authorization": f"Basic {key}"},
        "no space": {"authorization": f"Bearer{key}"},
        "scheme twice": {"authorization": f"Bearer Bearer {key}"},
        "not ASCII": {"authorization": "Bearer clé".encode()},
        "not UTF-8": {"authorization": b"Bearer \xff\xfe"},
        "other header": {"x-api-key": key, "cookie": f"authorization={key}"},
        "internal secret in its header": {"x-internal-secret": SECRET},
        "key as internal secret": {"x-internal-secret": key},
    }
    texts = strange_keys(key) | dead_keys(tenant.api)
    return shaped | {kind: {"authorization": f"Bearer {text}"} for kind, text in texts.items()}


def bad_secrets(tenant: Tenant) -> dict[str, Headers]:
    """Headers that hold no good internal secret, by what is wrong."""
    texts: dict[str, str | bytes] = {
        "empty": "",
        "wrong": CANARY,
        "cut": SECRET[:-1],
        "longer": f"{SECRET}x",
        "other case": SECRET.upper(),
        "not ASCII": "é".encode(),
        "both": f"{SECRET}, {OLD_SECRET}",
        "from before the last rotation": f"{CANARY}-two-rotations-ago",
        "project key": tenant.api.key,
        "key of an instance": tenant.ids["api_key"],
        "with a scheme": f"Bearer {SECRET}",
    }
    keys = {"project key": tenant.api.key, "key of an instance": tenant.ids["api_key"]}
    bad: dict[str, Headers] = {"nothing": {}}
    bad |= {kind: {"x-internal-secret": text} for kind, text in texts.items()}
    for kind, text in {**keys, "secret": SECRET}.items():
        bad[f"{kind} as key"] = {"authorization": f"Bearer {text}"}
    return bad


def unscoped(api: Api, opened_by: frozenset[str]) -> dict[str, str]:
    """Keys with every set of scopes that opens nothing here, by those scopes."""
    closed: list[Any] = [s for s in ("search", "manage", "replace") if s not in opened_by]
    sets = [[scope] for scope in closed] + [closed] * (len(closed) > 1)
    return {"+".join(scopes): api.new_key(scopes=scopes)["api_key"] for scopes in sets}
