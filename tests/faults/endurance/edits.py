"""What users do at random: documents, tools, rebuilds, searches; and what must be so at once."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2

from context_search.core.documents import string_nodes
from context_search.core.json_pointer import join, replace_value, resolve, split
from tests.e2e.served import ServedStack
from tests.faults.endurance.hits import deviation
from tests.faults.endurance.texts import MARKER, Texts

MAX_TABLES = 6
SCOPES = ("", "", "/long", "/part", "/part/a~1b~0")


@dataclass
class Table:
    """A table as its last acknowledged write left it; None when a reply got lost since."""

    id: int
    document: dict[str, Any] | None
    tools: list[dict[str, Any]] = field(default_factory=list)


class Edits:
    """Chooses and does one thing at a time; ``wrong`` collects what must not be."""

    def __init__(self, draw: random.Random, served: ServedStack) -> None:
        self.draw, self.served, self.texts = draw, served, Texts(draw)
        self.tables: dict[int, Table] = {}
        self.counts: dict[str, int] = {}
        self.waits_s: list[float] = []
        self.wrong: list[tuple[float, str]] = []

    def step(self) -> None:
        """Does one thing. Raises what a broken connection raises."""
        moves: list[tuple[int, Callable[[Table], None]]] = [
            (6, self.change_string),
            (3, self.insert_paragraph),
            (2, self.write_by_sql),
            (2, self.shrink),
            (2, self.remove),
            (2, self.append),
            (1, self.replace_all),
            (2, self.add_tool),
            (1, self.delete_tool),
            (1, self.rebuild),
            (1, self.delete_table),
            (1, self.await_tool),
            (8, self.search),
        ]
        if not self.tables or (len(self.tables) < MAX_TABLES and self.draw.random() < 0.1):
            self.add_table()
            return
        [(_, move)] = self.draw.choices(moves, [weight for weight, _ in moves])
        table = self.draw.choice(list(self.tables.values()))
        if self.known(table):
            self.counts[move.__name__] = self.counts.get(move.__name__, 0) + 1
            move(table)

    def request(self, method: str, path: str, **more: Any) -> httpx2.Response:
        """One request; an answer that says "broken" is noted."""
        answer = self.served.tenant(method, path, **more)
        if answer.status_code in {500, 422}:
            where = f"{answer.status_code} for {method} {path}: {answer.text[:200]}"
            self.wrong.append((time.monotonic(), where))
        return answer

    def known(self, table: Table) -> bool:
        """Reads a document again whose last write is uncertain; False when the table is gone."""
        if table.document is None:
            answer = self.request("GET", f"/api/v1/tables/{table.id}/data")
            if answer.status_code == 404:
                del self.tables[table.id]
                return False
            if answer.status_code == 200:
                table.document = answer.json()
        return table.document is not None

    def write(self, table: Table, path: list[str], value: object, *, method: str = "PUT") -> None:
        """Writes to a pointer; until the answer is there, nobody knows the document."""
        document, table.document = table.document, None
        where = f"/api/v1/tables/{table.id}/data"
        answer = self.request(method, where, params={"pointer": join(path)}, json=value)
        if answer.status_code == 200:
            changed = replace_value(document, path, value)
            assert isinstance(changed, dict)
            table.document = changed

    def some_string(self, table: Table) -> tuple[list[str], str]:
        """A string of a document; a document without any gets one."""
        nodes = list(string_nodes(table.document, scope="", threshold=100))
        if not nodes:
            return ["part", "notes"], self.texts.short()
        node = self.draw.choice(nodes)
        return split(node.json_pointer), node.text

    def add_table(self) -> None:
        document = self.texts.document()
        body = {"project_id": self.served.tenant.project_id, "name": "t", "data": document}
        answer = self.request("POST", "/api/v1/tables", json=body)
        if answer.status_code == 201:
            table = Table(answer.json()["id"], document)
            self.tables[table.id] = table
            self.add_tool(table)

    def change_string(self, table: Table) -> None:
        self.write(table, self.some_string(table)[0], self.texts.long())

    def insert_paragraph(self, table: Table) -> None:
        path, text = self.some_string(table)
        self.write(table, path, self.texts.with_sentence(text))

    def shrink(self, table: Table) -> None:
        self.write(table, self.some_string(table)[0], self.texts.short())

    def append(self, table: Table) -> None:
        long = resolve(table.document, ["long"])
        assert isinstance(long, list)
        if len(long) < 5:
            self.write(table, ["long"], [*long, self.texts.long()])

    def remove(self, table: Table) -> None:
        long = resolve(table.document, ["long"])
        assert isinstance(long, list)
        if len(long) > 1:
            self.write(table, ["long"], long[1:])  # the others move

    def replace_all(self, table: Table) -> None:
        self.write(table, [], self.texts.document())

    def write_by_sql(self, table: Table) -> None:
        path, text = self.draw.choice([["part", "书"], ["part", "notes"]]), self.texts.long()
        document, table.document = table.document, None
        self.served.tenant.stack.sql(
            "UPDATE context_table SET data = jsonb_set(data, CAST(:path AS text[]),"
            " CAST(:text AS jsonb)) WHERE id = :id",
            path=path,
            text=json.dumps(text),
            id=table.id,
        )
        changed = replace_value(document, path, text)
        assert isinstance(changed, dict)
        table.document = changed

    def add_tool(self, table: Table) -> None:
        config = self.draw.choice([{}, {}, {"chunk_size": 700, "chunk_overlap": 50}])
        body = {
            "project_id": self.served.tenant.project_id,
            "table_id": table.id,
            "name": "search",
            "json_path": self.draw.choice(SCOPES),
            "search_config": config,
        }
        if len(table.tools) < 4:
            answer = self.request("POST", "/api/v1/tools/search", json=body)
            if answer.status_code == 201:
                table.tools.append({**answer.json(), "scope": body["json_path"]})

    def await_tool(self, table: Table) -> None:
        """Adds a tool whose configuration nobody has, and waits until it is ready."""
        began = time.monotonic()
        size = 500 + self.draw.randrange(400)
        body = {
            "project_id": self.served.tenant.project_id,
            "table_id": table.id,
            "name": "awaited",
            "search_config": {"chunk_size": size},
        }
        answer = self.request("POST", "/api/v1/tools/search", json=body)
        if answer.status_code == 201:
            made = answer.json()
            try:
                self.served.tenant.ready(made)
            except AssertionError as error:  # a broken connection says so by itself
                self.wrong.append((time.monotonic(), f"tool {made['tool_id']}: {error}"))
                return
            self.waits_s.append(time.monotonic() - began)
            self.request("DELETE", f"/api/v1/tools/{made['tool_id']}")

    def delete_tool(self, table: Table) -> None:
        if len(table.tools) > 1:
            tool = table.tools.pop(self.draw.randrange(len(table.tools)))
            self.request("DELETE", f"/api/v1/tools/{tool['tool_id']}")

    def rebuild(self, table: Table) -> None:
        if table.tools:
            tool = self.draw.choice(table.tools)
            path = f"/internal/tools/{tool['tool_id']}/chunks/rebuild"
            secret = {"x-internal-secret": self.served.tenant.stack.internal_secret}
            self.served.tenant.stack.http.post(path, headers=secret)

    def delete_table(self, table: Table) -> None:
        if len(self.tables) > 2:
            self.request("DELETE", f"/api/v1/tables/{table.id}")
            table.document = None  # gone, or not: the next look tells

    def search(self, table: Table) -> None:
        """Whatever is under way: a hit is the live text, or says that it is not."""
        if not table.tools:
            return
        tool = self.draw.choice(table.tools)
        _, text = self.some_string(table)
        words = MARKER.findall(text) or ["harbour winter"]
        path = f"/api/v1/tools/{tool['tool_id']}/search"
        answer = self.request("POST", path, json={"query": self.draw.choice(words), "top_k": 20})
        if answer.status_code == 200:
            for hit in answer.json()["results"]:
                if hit.get("stale") is not True and (how := deviation(table.document, hit)):
                    self.wrong.append((time.monotonic(), f"tool {tool['tool_id']}: {how}"))
