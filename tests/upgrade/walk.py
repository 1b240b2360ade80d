"""What users do while both versions run, so that every kind of message and row occurs.

And what must be so.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote

import httpx2

from context_search.core.documents import string_nodes
from context_search.core.json_pointer import replace_value, split
from tests.builders import chinese, english
from tests.faults.endurance.hits import deviation
from tests.faults.endurance.texts import MARKER, Texts
from tests.functions.deployment import SECRET
from tests.upgrade.shared_parts import SharedParts
from tests.upgrade.versions import UpgradeError

THRESHOLD = 100
_CONFIG = {"chunk_threshold": THRESHOLD, "chunk_size": 400, "chunk_overlap": 40}
# Storage, strategy and scope of the tools over each table.
_TOOLS: tuple[tuple[dict[str, Any], str], ...] = (
    ({**_CONFIG, "strategy": "hybrid"}, ""),
    ({**_CONFIG, "strategy": "keyword"}, "/part"),
    ({**_CONFIG, "strategy": "hybrid", "storage": "lean"}, "/small"),
)
_KEPT_TABLES = 4
_LARGE = 200_000
"""Characters of a document that Postgres stores in more than 32,000 bytes, and so in sections."""
_FOUND, _BECOMES = "harbour", "seaport"
# Calls that are left out where a version that may answer has no such route: method, path as the
# template has it (with ``project_id``, ``table_id`` or ``tool_id``), status, body.
_NEW: tuple[tuple[str, str, int, object], ...] = (
    ("PATCH", "/api/v1/tables/{table_id}", 200, {"url_template": "https://wiki.example/{cite}"}),
)
_SEARCHES = re.compile(r"/mcp|/api/v1/mcps.*|.*/\d+/(search|retrieve)")  # as the template has it
_MCP_HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2025-11-25",
}


@dataclass
class Tool:
    """A tool and what it searches."""

    id: int
    table_id: int
    scope: str


@dataclass
class Walk:
    """One project; its documents as their last acknowledged write left them."""

    shared: SharedParts
    seed: int = 1
    documents: dict[int, Any] = field(default_factory=dict)
    tools: dict[int, Tool] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        self.texts = Texts(self.draw)
        made = self.call("POST", "/api/v1/projects", {"name": "upgrade"}, status=201)
        self.project_id, self.key = made["id"], made["api_key"]
        self.call("POST", self._own("search-index"), status=202)

    def round(self) -> None:
        """Adds, changes and removes; after each step everything is found as it is written."""
        steps = (self.add, self.upload, self.edit, self.rebuild, self.serve)
        for step in (*steps, self.replace_and_undo, self.remove):
            step()
            self.settle()
            self.counts["steps"] += 1
        self.look()

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        status: int = 200,
        query: str = "",
        headers: dict[str, str] | None = None,
    ) -> Any:
        """The answer of the function that serves a path. Raises UpgradeError for another status."""
        function = _function_of(path)
        is_operators = path.startswith("/internal") or path == "/api/v1/projects"
        deployed = self.shared.deployed
        answer = deployed.http(
            method,
            path,
            body,
            key="" if is_operators else self.key,
            headers={**({"x-internal-secret": SECRET} if is_operators else {}), **(headers or {})},
            function=function,
            rawQueryString=query,
        )
        self.counts["calls"] += 1
        if answer["statusCode"] != status:
            said = str(answer.get("body"))[:600]
            complaints = "".join(f"\n{line}" for line in self.shared.complaints()[:6])
            who = deployed.functions[function]
            raise UpgradeError(
                f"{method} {path} of {getattr(who, 'name', 'either version')}:"
                f" {answer['statusCode']} instead of {status}: {said}{complaints}"
            )
        return answer["json"]

    # ------------------------------------------------------------------ steps

    def document(self) -> dict[str, Any]:
        """Strings of every length: one for a message alone, some that come together."""
        long, said = self.texts.with_sentence, self.draw.randrange
        return {
            "title": "upgrade",
            "long": [long(english(12_000, said(10**6))), long(english(1_500, said(10**6)))],
            "part": {"a/b~": long(english(900, said(10**6))), "书": long(chinese(700, said(99)))},
            "small": [long(english(120, said(10**6))) for _ in range(6)],
        }

    def add(self) -> None:
        """A table, with a repeated request under one key, and its tools; the first one is large."""
        document = self.document()
        if not self.documents:
            texts = [english(_LARGE // 10, self.draw.randrange(10**6)) for _ in range(10)]
            document["large"] = [self.texts.with_sentence(text) for text in texts]
        body = {"project_id": self.project_id, "name": "library", "data": document}
        once = {"idempotency-key": f"upgrade-{self.draw.randrange(10**9)}"}
        made = self.call("POST", "/api/v1/tables", body, status=201, headers=once)
        again = self.call("POST", "/api/v1/tables", body, status=201, headers=once)
        if again["id"] != made["id"]:
            raise UpgradeError(f"one Idempotency-Key made tables {made['id']} and {again['id']}")
        self.documents[made["id"]] = document
        for number, (config, scope) in enumerate(_TOOLS):
            self._add_tool(made["id"], f"search_{made['id']}_{number}", config, scope)

    def upload(self) -> None:
        """A document that comes by S3."""
        table_id, document = self._some_table(), self.document()
        path = f"/api/v1/tables/{table_id}/uploads"
        content = json.dumps(document).encode()
        said = {"format": "json", "size": len(content)}
        begun = self.call("POST", path, said, status=201)
        sent = httpx2.request(
            begun["method"], begun["url"], headers=begun["headers"], content=content
        )
        if sent.status_code != 200:
            raise UpgradeError(f"the bucket says {sent.status_code}")
        self.call("POST", f"{path}/{begun['upload_id']}/complete", status=202)
        self.shared.drain()
        reported = self.call("GET", f"{path}/{begun['upload_id']}")
        if reported["status"] != "done":
            raise UpgradeError(f"an import is {reported['status']}: {reported.get('last_error')}")
        self.documents[table_id] = document

    def edit(self) -> None:
        """Every table changes, as users and other programs change them."""
        for table_id, document in list(self.documents.items()):
            nodes = list(string_nodes(document, scope="", threshold=THRESHOLD))
            node = self.draw.choice(nodes)
            self._write(table_id, node.json_pointer, self.texts.with_sentence(node.text))
            shrunk = self.draw.choice([each for each in nodes if each != node])
            self._write(table_id, shrunk.json_pointer, "short")
            self._write(table_id, "/part/more", self.texts.with_sentence(english(500, table_id)))
            self._write(table_id, "/small", self.documents[table_id]["small"][1:])
        table_id = self._some_table()
        text = self.texts.with_sentence(english(800, table_id))
        self.shared.sql(
            "UPDATE context_table SET"
            " data = jsonb_set(data, '{sql}', to_jsonb(CAST(:text AS text))) WHERE id = :id",
            text=text,
            id=table_id,
        )
        self.documents[table_id] = {**self.documents[table_id], "sql": text}

    def rebuild(self) -> None:
        """One index is built anew; another one goes back to what it was before, if it was."""
        tool = self.draw.choice(list(self.tools))
        self.call("POST", f"/internal/tools/{tool}/chunks/rebuild", status=202)
        self.settle()
        self.call("POST", f"/internal/tools/{tool}/chunks/rollback")

    def serve(self) -> None:
        """Keys, settings and an MCP instance, and what agents ask of it."""
        settings = self._own("retrieval-settings")
        known = self.call("GET", settings)
        self.call(
            "PATCH", settings, {"maxTokens": 3_000}, headers={"if-match": f'"{known["version"]}"'}
        )
        session = {"name": "console", "kind": "console", "scopes": ["search"], "expires_in": 3_600}
        self.call("POST", self._own("keys"), session, status=201)
        judged = self._own(f"judged-sets/set-{self.counts['steps']}")
        self.call("PUT", judged, {"lines": ""}, status=201)
        made = self.call(
            "POST", self._own("keys"), {"name": "ci", "scopes": ["search"]}, status=201
        )
        self.call("POST", f"{self._own('keys')}/{made['id']}/rotate", {}, status=201)
        bindings = [{"tool_id": tool} for tool in list(self.tools)[:2]]
        body = {"project_id": self.project_id, "name": "agents", "bindings": bindings}
        if self.shared.has_migration("search", "0010_reading.sql"):
            body |= {"tools": "single", "texts": "ours"}
        self.call("POST", "/api/v1/mcps", body, status=201)
        listed = self._mcp("tools/list")["tools"]
        if not listed:
            raise UpgradeError("MCP lists no tools")
        tool = next(iter(self.tools.values()))
        [marker, *_] = self._markers(tool)
        found = self.call("POST", f"/api/v1/tools/{tool.id}/retrieve", {"query": marker[1]})
        if marker[1] not in str(found["results"]):
            raise UpgradeError(f"retrieve does not find {marker[0]} of tool {tool.id}")
        page = self.call(
            "POST", self._own("search"), {"query": "harbour", "include_low_score": True}
        )
        if not page["results"]:
            raise UpgradeError("the project's search finds nothing")
        self._call_new(tool)

    def _call_new(self, tool: Tool) -> None:
        ids = {"project_id": self.project_id, "table_id": tool.table_id, "tool_id": tool.id}
        for method, route, status, body in _NEW:
            path = route.format_map(ids)
            if self.shared.serves(_function_of(path), f"{method} {route}"):
                self.call(method, path, body, status=status)

    def remove(self) -> None:
        """A tool, and the oldest table when there are several."""
        table_id = self._some_table()
        tool = self._add_tool(table_id, f"short_lived_{self.counts['steps']}", _CONFIG, "/long")
        self.settle()
        self.call("DELETE", f"/api/v1/tools/{tool}", status=204)
        del self.tools[tool]
        if len(self.documents) > _KEPT_TABLES:
            oldest = min(self.documents)
            self.call("DELETE", f"/api/v1/tables/{oldest}", status=204)
            del self.documents[oldest]
            self.tools = {i: each for i, each in self.tools.items() if each.table_id != oldest}

    def replace_and_undo(self) -> None:
        """A word becomes another in all documents, is found, and is back."""
        body = {"find": _FOUND, "replace_with": _BECOMES}
        plan = self.call("POST", self._own("replace/preview"), body)
        chosen = {"plan_id": plan["plan_id"], "digest": plan["digest"]}
        done = self.call("POST", self._own("replace/execute"), chosen)
        if not 0 < done["replaced_count"] == plan["matches_count"]:
            raise UpgradeError(
                f"{plan['matches_count']} matches, {done['replaced_count']} replaced"
            )
        before = self.documents
        replaced = json.dumps(before).replace(_FOUND, _BECOMES)
        self.documents = {int(name): value for name, value in json.loads(replaced).items()}
        self.settle()
        self.look()
        self.call("POST", self._own(f"replace/{plan['plan_id']}/undo"), {})
        self.documents = before

    # ------------------------------------------------------------------ proof

    def settle(self) -> None:
        """Does what waits. What is not whole then has to be so after one run of cleanup."""
        self.shared.drain()
        blips = self._not_whole()
        self.shared.clean()
        if blips:
            self.counts["blips"] += 1
            if still := self._not_whole():
                raise UpgradeError("not whole after a run of cleanup: " + "; ".join(still))

    def look(self) -> None:
        """Every string of every tool is found by its own word; hits are the text that is there."""
        for tool in self.tools.values():
            document = self.documents[tool.table_id]
            stored = self.call("GET", f"/api/v1/tables/{tool.table_id}/data")
            if stored != document:
                raise UpgradeError(f"table {tool.table_id} is not the document that was written")
            for pointer, marker in self._markers(tool):
                hits = self._search(tool, marker)["results"]
                if pointer not in {hit["chunk"]["json_pointer"] for hit in hits}:
                    raise UpgradeError(f"tool {tool.id} does not find {pointer} by its own word")
                for hit in hits:
                    if wrong := deviation(document, hit):
                        raise UpgradeError(f"tool {tool.id}: {wrong}")
                self.counts["strings"] += 1
                self.counts["hits"] += len(hits)

    def _not_whole(self) -> list[str]:
        """Tools that are not ready, or whose answers are not as asked."""
        wrong = []
        for tool in self.tools.values():
            state = self.call("GET", f"/api/v1/tools/{tool.id}/search-index")
            if state["status"] != "ready":
                wrong.append(f"tool {tool.id} is {state['status']}, {state.get('last_error')}")
            degraded = self._search(tool, "harbour")["retrieval"]["degraded"]
            if degraded:
                wrong.append(f"tool {tool.id} answers with {degraded}")
        return wrong

    def _markers(self, tool: Tool) -> list[tuple[str, str]]:
        document = self.documents[tool.table_id]
        nodes = string_nodes(document, scope=tool.scope, threshold=THRESHOLD)
        return [(node.json_pointer, MARKER.findall(node.text)[-1]) for node in nodes]

    def _search(self, tool: Tool, query: str) -> dict[str, Any]:
        path = f"/api/v1/tools/{tool.id}/search"
        found = self.call("POST", path, {"query": query, "top_k": 20})
        return cast("dict[str, Any]", found)

    def _mcp(self, method: str) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method}
        found = self.call("POST", "/mcp", body, headers=_MCP_HEADERS)
        return cast("dict[str, Any]", found["result"])

    def _own(self, what: str) -> str:
        return f"/api/v1/projects/{self.project_id}/{what}"

    def _some_table(self) -> int:
        return self.draw.choice(list(self.documents))

    def _add_tool(self, table_id: int, name: str, config: dict[str, Any], scope: str) -> int:
        body = {
            "project_id": self.project_id,
            "table_id": table_id,
            "name": name,
            "json_path": scope,
            "search_config": config,
        }
        made = self.call("POST", "/api/v1/tools/search", body, status=201)
        tool = Tool(made["tool_id"], table_id, scope)
        self.tools[tool.id] = tool
        return tool.id

    def _write(self, table_id: int, pointer: str, value: object) -> None:
        query = f"pointer={quote(pointer)}"
        self.call("PUT", f"/api/v1/tables/{table_id}/data", value, query=query)
        self.documents[table_id] = replace_value(self.documents[table_id], split(pointer), value)


def _function_of(path: str) -> str:
    return "search" if _SEARCHES.fullmatch(path) else "create_tool"
