"""A project with one of everything, so that requests made from a schema reach what is behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.builders import until
from tests.e2e.library import library
from tests.e2e.running import INDEXED_WITHIN_S, Tenant

SPARES = 8
# How often an id is one of these; else it is as schemathesis makes it up.
_PROBABILITY = 0.8
Ids = Mapping[str, list[int | str]]


@dataclass(frozen=True, slots=True)
class Things:
    """Ids by the name that paths and bodies give them; ``special`` ones for single operations."""

    tenant: Tenant
    kept_key_id: int
    general: Ids
    special: Mapping[str, Ids]

    def toml(self) -> str:
        """What schemathesis' configuration says of them, to be put behind the rest."""
        lines = [f"[dictionaries]\n{_dictionaries('of', self.general)}"]
        lines += [_dictionaries(f"of_{at}", ids) for at, ids in enumerate(self.special.values())]
        lines += ["[parameters]", _bindings("of", self.general, "path", "body")]
        for at, (operation, ids) in enumerate(self.special.items()):
            lines += [f'[[operations]]\ninclude-name = "{operation}"\n[operations.parameters]']
            lines += [_bindings(f"of_{at}", ids, "path", "body")]
        return "\n".join(lines)


def _dictionaries(prefix: str, ids: Ids) -> str:
    return "".join(f"{prefix}_{name} = {{ values = {ids[name]!r} }}\n" for name in ids)


def _bindings(prefix: str, ids: Ids, *places: str) -> str:
    chosen = f'{{ dictionary = "{prefix}_%s", probability = {_PROBABILITY} }}'
    return "".join(f'"{place}.{name}" = {chosen % name}\n' for name in ids for place in places)


@dataclass(frozen=True, slots=True)
class _Maker:
    tenant: Tenant

    def made(self, path: str, /, **body: object) -> dict[str, Any]:
        answer = self.tenant("POST", f"/api/v1/{path}", json=body)
        assert answer.status_code in (200, 201, 202), answer.text
        return dict(answer.json())

    def ids(self, name: str, path: str, /, **body: object) -> list[int | str]:
        return [self.made(path, **body)[name] for _ in range(SPARES)]


def things_of(tenant: Tenant, spare_projects: list[int | str]) -> Things:
    """Makes them; the tool is ready and project search is on when this returns.

    ``spare_projects`` are there to be deleted.
    """
    maker, own = _Maker(tenant), f"projects/{tenant.project_id}"
    kept = tenant("GET", f"/api/v1/{own}/keys").json()["keys"][0]["id"]
    named = {"project_id": tenant.project_id, "name": "x"}
    table = tenant.table(library())
    tool = tenant.ready(tenant.tool(table))["tool_id"]
    bound = maker.ids("tool_id", "tools/search", **named, table_id=table)
    bindings = [{"tool_id": one} for one in (tool, *bound)]
    mcp = maker.made("mcps", **named, bindings=bindings)
    maker.made(f"{own}/search-index")
    found = maker.made(f"tools/{tool}/search", query="comets")
    seen = maker.made("read", cite=found["results"][0]["cite"])["place"]
    change = tenant("PATCH", f"/api/v1/tables/{table}/data", json={"changed": True})
    assert change.status_code == 200, change.text
    return Things(
        tenant,
        kept,
        {
            "project_id": [tenant.project_id],
            "table_id": [table],
            "revision": [1],
            "tool_id": [tool],
            "mcp_id": [mcp["id"]],
            "api_key": [maker.made("mcps", **named, bindings=bindings)["api_key"]],
            "set_name": ["judged"],
            "cite": [found["results"][0]["cite"]],
            "collection": [seen["collection"]],
        },
        {
            "DELETE /api/v1/projects/{project_id}": {"project_id": spare_projects},
            "DELETE /api/v1/tables/{table_id}": {
                "table_id": maker.ids("id", "tables", **named, data=1)
            },
            "DELETE /api/v1/tools/{tool_id}": {
                "tool_id": maker.ids("tool_id", "tools/search", **named, table_id=table)
            },
            "DELETE /api/v1/mcps/{mcp_id}": {"mcp_id": maker.ids("id", "mcps", **named)},
            "POST /api/v1/mcps/{mcp_id}/bindings": {
                "mcp_id": [maker.made("mcps", **named)["id"]],
                "tool_id": bound,
            },
            "DELETE /api/v1/mcps/{mcp_id}/bindings/{tool_id}": {"tool_id": bound},
            **_generations(tenant, table),
            **_keys("/api/v1/projects/{project_id}", maker.ids("id", f"{own}/keys")),
            **_keys("/api/v1/mcps/{mcp_id}", maker.ids("id", f"mcps/{mcp['id']}/keys")),
            **_uploads(maker),
            **_plans(maker, f"{own}/replace"),
        },
    )


def _generations(tenant: Tenant, table: int) -> Mapping[str, Ids]:
    """Tools whose generations nobody else needs: one to be cleared, two to be rolled back."""
    alone = tenant.tool(table, search_config={"chunk_size": 500})["tool_id"]
    return {
        "DELETE /internal/tools/{tool_id}/chunks": {"tool_id": [alone]},
        "POST /api/v1/tools/{tool_id}/search-index/clear": {"tool_id": [alone]},
        "POST /internal/tools/{tool_id}/chunks/rollback": {"tool_id": [_rebuilt(tenant)]},
        "POST /api/v1/tools/{tool_id}/search-index/rollback": {"tool_id": [_rebuilt(tenant)]},
    }


def _keys(owner: str, keys: list[int | str]) -> Mapping[str, Ids]:
    """One to be rotated, the others to be deleted."""
    return {
        f"DELETE {owner}/keys/{{key_id}}": {"key_id": keys[1:]},
        f"POST {owner}/keys/{{key_id}}/rotate": {"key_id": keys[:1]},
    }


def _plans(maker: _Maker, replacing: str) -> Mapping[str, Ids]:
    """One that was executed, some to be read, one to be executed, the others to be cancelled."""
    executed, *shown, ready = (_plan(maker, replacing) for _ in range(4))
    cancelled = [_plan(maker, replacing) for _ in range(SPARES - 4)]
    done = maker.made(
        f"{replacing}/execute", plan_id=executed["plan_id"], digest=executed["digest"]
    )
    read = {"plan_id": [plan["plan_id"] for plan in shown]}
    at = "/api/v1/projects/{project_id}/replace"
    return {
        f"GET {at}/{{plan_id}}": read,
        f"GET {at}/{{plan_id}}/matches": read,
        f"POST {at}/execute": {"plan_id": [ready["plan_id"]], "digest": [ready["digest"]]},
        f"POST {at}/{{plan_id}}/undo": {"plan_id": [done["plan_id"]]},
        f"DELETE {at}/{{plan_id}}": {"plan_id": [plan["plan_id"] for plan in cancelled]},
    }


def _plan(maker: _Maker, replacing: str) -> dict[str, Any]:
    table = maker.tenant.table({"text": "to be replaced"})
    return maker.made(f"{replacing}/preview", find="replaced", replace_with="x", tables=[table])


def _rebuilt(tenant: Tenant) -> int:
    """A tool that has an earlier generation to go back to, from one to the other and back."""
    tool = tenant.tool(tenant.table(library()))
    tenant.ready(tool)
    chunks, internally = f"/internal/tools/{tool['tool_id']}/chunks", tenant.stack.internally
    assert internally("POST", f"{chunks}/rebuild").status_code == 202

    def rolled_back() -> bool:
        return internally("POST", f"{chunks}/rollback").status_code == 200

    until(rolled_back, INDEXED_WITHIN_S)
    return int(tool["tool_id"])


def _uploads(maker: _Maker) -> Mapping[str, Ids]:
    """Some to be completed, some of which the document is not there."""
    table = maker.tenant.table({})
    content = b'{"letters": []}'
    said = {"format": "json", "size": len(content)}
    made = [maker.made(f"tables/{table}/uploads", **said) for _ in range(SPARES)]
    for upload in made[::2]:
        put = httpx2.put(upload["url"], content=content, headers=upload["headers"])
        assert put.status_code == 200, put.text
    ids: Ids = {"table_id": [table], "upload_id": [upload["upload_id"] for upload in made]}
    at = "/api/v1/tables/{table_id}/uploads/{upload_id}"
    return {f"POST {at}/complete": ids, f"GET {at}": ids}
