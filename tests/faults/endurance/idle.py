"""The proof at rest: what is stored, what is indexed and what is found are one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from context_search.core.documents import StringNode, string_nodes
from context_search.postgres.visible_rows import TABLE_IS_THERE, TOOL_IS_THERE
from tests.builders import until
from tests.e2e.served import ServedStack
from tests.faults.endurance.edits import Edits
from tests.faults.endurance.hits import deviation
from tests.faults.endurance.texts import MARKER, THRESHOLD
from tests.tallies import wrong_tallies

RESTS_WITHIN_S = 300.0
RANDOM_SEARCHES = 20


@dataclass
class Proof:
    """What was looked at, and what is wrong."""

    tables: int
    tools: int
    strings: int
    documents: int
    hits: int
    integrity: list[dict[str, Any]]
    wrong: list[str]


def prove(served: ServedStack, edits: Edits, draw: random.Random) -> Proof:
    """Waits until nothing is under way, then compares everything with everything."""
    idle = _Idle(served, draw)
    until(idle.is_quiet, RESTS_WITHIN_S, every_s=1.0)
    reports = idle.fresh_reports()
    proof = Proof(0, 0, 0, 0, 0, reports, [])
    for report in reports:
        if report["orphans"] or report["missing"]:
            proof.wrong.append(f"integrity: {report}")
    proof.wrong += [f"the tally of {of}" for of in wrong_tallies(idle.stack.sql)]
    for namespace in idle.namespaces():
        proof.documents += len(found := served.tenant.stack.documents(namespace))
        if found != served.tenant.stack.rows(namespace):
            proof.wrong.append(f"{namespace} does not hold what the chunk rows say")
    for table_id in idle.tables():
        proof.tables += 1
        idle.check_table(proof, table_id, edits)
    return proof


class _Idle:
    """Looks at a stack that nobody changes any more."""

    def __init__(self, served: ServedStack, draw: random.Random) -> None:
        self.tenant, self.stack, self.draw = served.tenant, served.tenant.stack, draw

    def tables(self) -> list[int]:
        """The live tables of the run's project."""
        rows = self.stack.sql(
            f"SELECT id FROM context_table WHERE project_id = :project AND {TABLE_IS_THERE}"
            " ORDER BY id",
            project=self.tenant.project_id,
        )
        return [row[0] for row in rows]

    def tools(self) -> list[tuple[int, int, str]]:
        """Id, table and scope of the live tools; also of those whose answer got lost."""
        rows = self.stack.sql(
            "SELECT tool.id, table_id, json_path FROM tool"
            f" JOIN context_table ON context_table.id = table_id AND {TABLE_IS_THERE}"
            f" WHERE tool.project_id = :project AND {TOOL_IS_THERE} ORDER BY tool.id",
            project=self.tenant.project_id,
        )
        return [(tool_id, table_id, scope) for tool_id, table_id, scope in rows]

    def namespaces(self) -> list[str]:
        """Of the generations that answer."""
        rows = self.stack.sql("SELECT namespace FROM index_generation WHERE state = 'active'")
        return [row[0] for row in rows]

    def is_quiet(self) -> bool:
        """Every tool is ready, and nothing waits to be sent, built or deleted."""
        [[waiting]] = self.stack.sql(
            "SELECT (SELECT count(*) FROM tombstone) + (SELECT count(*) FROM outbox)"
            " + (SELECT count(*) FROM index_generation WHERE state NOT IN ('active', 'previous'))"
            " + (SELECT count(*) FROM node WHERE state IN ('queued', 'claimed') AND generation_id"
            "    IN (SELECT id FROM index_generation WHERE state = 'active'))"
        )
        states = [self.tenant.state({"tool_id": tool})["status"] for tool, _, _ in self.tools()]
        return not waiting and set(states) <= {"ready"}

    def reports(self) -> list[dict[str, Any]]:
        """The integrity report, one entry a namespace."""
        secret = {"x-internal-secret": self.stack.internal_secret}
        answer = self.stack.http.get("/internal/integrity", headers=secret)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["namespaces"])

    def fresh_reports(self) -> list[dict[str, Any]]:
        """Of sweeps that began after the rest: the second one from now on."""
        for _ in range(2):
            before = {report["namespace"]: report["at"] for report in self.reports()}

            def all_are_newer(before: dict[str, str] = before) -> bool:
                now = {report["namespace"]: report["at"] for report in self.reports()}
                return all(now.get(name, "") > before.get(name, "") for name in self.namespaces())

            until(all_are_newer, RESTS_WITHIN_S, every_s=1.0)
        return self.reports()

    def check_table(self, proof: Proof, table_id: int, edits: Edits) -> None:
        """The document is the one that was written; every tool over it finds what it has to."""
        answer = self.tenant("GET", f"/api/v1/tables/{table_id}/data")
        document = answer.json()
        written = edits.tables.get(table_id)
        if written and written.document is not None and written.document != document:
            proof.wrong.append(f"table {table_id} is not the document that was acknowledged")
        for tool_id, of_table, scope in self.tools():
            if of_table == table_id:
                proof.tools += 1
                proof.wrong += [
                    f"tool {tool_id} over {scope!r}: {how}"
                    for how in self._check_tool(proof, tool_id, document, scope)
                ]

    def _check_tool(
        self, proof: Proof, tool_id: int, document: object, scope: str
    ) -> Iterator[str]:
        nodes = list(string_nodes(document, scope=scope, threshold=THRESHOLD))
        proof.strings += len(nodes)
        for node in nodes:
            if node.json_pointer not in self._pointers(tool_id, self._marker(node)):
                yield f"{node.json_pointer} is not found by its own word"
        asked = self.draw.choices(nodes, k=RANDOM_SEARCHES) if nodes else []
        for query in [self._phrase(node) for node in asked]:
            for hit in self._hits(tool_id, query):
                proof.hits += 1
                if "stale" in hit:
                    yield f"a hit of {hit['chunk']['json_pointer']} says stale at rest"
                if hit["chunk"]["json_pointer"] not in {node.json_pointer for node in nodes}:
                    yield f"a hit of {hit['chunk']['json_pointer']}, which has no long string"
                if how := deviation(document, hit):
                    yield how

    def _marker(self, node: StringNode) -> str:
        return str(self.draw.choice(MARKER.findall(node.text)))

    def _phrase(self, node: StringNode) -> str:
        at = self.draw.randrange(len(node.text) - 60)
        return "harbour " + node.text[at : at + 60]

    def _pointers(self, tool_id: int, query: str) -> set[str]:
        hits = self._hits(tool_id, query)
        return {hit["chunk"]["json_pointer"] for hit in hits if query in hit["chunk"]["chunk_text"]}

    def _hits(self, tool_id: int, query: str) -> list[dict[str, Any]]:
        return list(self.tenant.search({"tool_id": tool_id}, query, top_k=20)["results"])
