"""A caller who sends bytes of his own making."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from context_search.core.json_pointer import resolve, split
from tests.functions.deployment import SMALL, Deployment, event


@dataclass(frozen=True)
class Reply:
    """An answer as it came."""

    status: int
    text: str

    @property
    def json(self) -> Any:
        """The body, read."""
        return json.loads(self.text)

    @property
    def code(self) -> str:
        """The code of a problem."""
        return str(self.json["code"])


@dataclass(frozen=True)
class Stranger:
    """One project in a deployment."""

    deployed: Deployment
    project_id: int
    key: str

    @classmethod
    def new(cls, deployed: Deployment) -> Stranger:
        """With a project of its own."""
        return cls(deployed, *deployed.project())

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        query: str = "",
        function: str = "create_tool",
    ) -> Reply:
        """A request with these very bytes, as API Gateway hands them on."""
        request = event("create_tool")
        request |= {"routeKey": f"{method} {path}", "rawPath": path, "rawQueryString": query}
        request["requestContext"]["http"] |= {"method": method, "path": path}
        request["headers"] |= {
            "authorization": f"Bearer {self.key}",
            "accept": "application/json, text/event-stream",
        }
        del request["body"]
        if body is not None:
            request |= {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
        answer = self.deployed.functions[function].invoke(request)
        assert answer["statusCode"] < 500, answer
        return Reply(answer["statusCode"], answer.get("body", ""))

    def create(self, data: bytes, name: bytes = b'"t"') -> Reply:
        """A table of this JSON text."""
        start = b'{"project_id": %d, "name": %s, "data": ' % (self.project_id, name)
        return self.send("POST", "/api/v1/tables", start + data + b"}")

    def table(self, document: object) -> int:
        """The id of a table of this document."""
        made = self.create(json.dumps(document).encode())
        assert made.status == 201, made.text
        return int(made.json["id"])

    def stored(self, sql_text: str) -> int:
        """The id of a table whose document somebody wrote by SQL."""
        table_id = self.table({})
        self.deployed.sql(
            "UPDATE context_table SET data = CAST(:data AS jsonb) WHERE id = :id",
            data=sql_text,
            id=table_id,
        )
        return table_id

    def get(self, table_id: int, pointer: str | None = None) -> Reply:
        """The text of the document, or of the value at a pointer."""
        query = "" if pointer is None else f"pointer={quote(pointer, safe='')}"
        return self.send("GET", f"/api/v1/tables/{table_id}/data", query=query)

    def write(
        self, table_id: int, body: bytes, pointer: str | None = None, *, method: str = "PUT"
    ) -> Reply:
        """Replaces, or with PATCH merges, the document or the value at a pointer."""
        query = "" if pointer is None else f"pointer={quote(pointer, safe='')}"
        return self.send(method, f"/api/v1/tables/{table_id}/data", body, query=query)

    def create_tool(self, table_id: int, scope: str = "", **config: object) -> Reply:
        """Asks for a Search Tool."""
        body = {
            "project_id": self.project_id,
            "table_id": table_id,
            "name": "stories",
            "json_path": scope,
            "search_config": {**SMALL, **config},
        }
        return self.send("POST", "/api/v1/tools/search", json.dumps(body).encode())

    def tool(self, table_id: int, scope: str = "", **config: object) -> int:
        """The id of a Search Tool, all of it indexed."""
        made = self.create_tool(table_id, scope, **config)
        assert made.status == 201, made.text
        self.deployed.drain()
        return int(made.json["tool_id"])

    def ask(self, tool_id: int, body: object) -> Reply:
        """A search with this body."""
        path = f"/api/v1/tools/{tool_id}/search"
        return self.send("POST", path, json.dumps(body).encode(), function="search")

    def hits(self, tool_id: int, query: str, document: object) -> list[dict[str, Any]]:
        """The hits of a search; each equals the document at the place that it names."""
        found = self.ask(tool_id, {"query": query, "top_k": 20})
        assert found.status == 200, found.text
        results: list[dict[str, Any]] = found.json["results"]
        for hit in results:
            chunk = hit["chunk"]
            text = resolve(document, split(chunk["json_pointer"]))
            assert isinstance(text, str)
            assert text[chunk["char_start"] : chunk["char_end"]] == chunk["chunk_text"]
            assert "stale" not in hit
        return results

    def mcp(self, message: object) -> Reply:
        """A JSON-RPC message of an agent."""
        return self.send("POST", "/mcp", json.dumps(message).encode(), function="search")

    def namespace(self, tool_id: int) -> str:
        """Where the documents of a tool's index are."""
        [[name]] = self.deployed.sql(
            "SELECT namespace FROM index_generation JOIN coverage USING (index_id)"
            " WHERE tool_id = :tool AND state = 'active'",
            tool=tool_id,
        )
        return str(name)

    def state(self, tool_id: int) -> dict[str, Any]:
        """The counters of a tool's index."""
        reported = self.send("GET", f"/api/v1/tools/{tool_id}/search-index")
        assert reported.status == 200, reported.text
        state: dict[str, Any] = reported.json
        return state
