"""Search and replace over a store of either kind, and hands to work with."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from context_search.domain.access import Principal, ProjectKey
from context_search.domain.documents import parse_exact, strings_at
from context_search.domain.editing.plans import Plan, PlannedString
from context_search.domain.editing.replacing import ReplaceRequest
from context_search.domain.model import Project, Table
from context_search.ports.patterns import Patterns
from context_search.ports.store import Store
from context_search.services.editing.preview import (
    AskedReplacement,
    PreviewLimits,
    PreviewReplacements,
    ShownPlan,
)
from context_search.services.editing.show_matches import ShowMatches
from testing.in_memory.clock import ManualClock
from testing.in_memory.patterns import RePatterns
from tests.contract.store.bench import Bench

WAREHOUSE, FACTORY = "废弃仓库", "荒废工厂"
NOVEL: Sequence[Any] = (
    {"title": "第一章", "text": "他走进了废弃仓库，满地灰尘。废弃仓库很大。"},
    {"title": "第二章", "scenes": ["废弃仓库的门", "码头", "离开废弃仓库，回到废弃仓库"]},
    {"title": "第三章", "text": "车站", "废弃仓库": {"note": "又是废弃仓库。废弃仓库！"}},
    {"title": "第四章", "text": "仓库，废弃的", "pages": 7},
)
"""Three documents with seven places; a key is none."""


class TickingClock(ManualClock):
    """Time passes whenever somebody looks."""

    def __init__(self, step_s: float) -> None:
        super().__init__()
        self._step_s = step_s

    def monotonic(self) -> float:
        self.advance(self._step_s)
        return super().monotonic()


class Desk:
    """A project with tables, and the use cases of search and replace."""

    def __init__(self, bench: Bench, patterns: Patterns | None = None) -> None:
        self.bench = bench
        self.clock = ManualClock()
        self.patterns = patterns or RePatterns()
        self.project: Project = bench.project()
        self.principal: Principal = ProjectKey(self.project.id, key_id=7)
        self.preview = self.previews()
        self.matches = ShowMatches(bench.store, self.patterns, self.clock)

    def previews(
        self,
        limits: PreviewLimits | None = None,
        *,
        store: Store | None = None,
        clock: ManualClock | None = None,
    ) -> PreviewReplacements:
        """Previews with other limits, over another store."""
        store = store or self.bench.store
        return PreviewReplacements(
            store, store, self.patterns, hashed, clock or self.clock, limits or PreviewLimits()
        )

    def tables(self, *documents: object) -> list[Table]:
        """Tables with these documents."""
        return [self.bench.table(document, self.project) for document in documents]

    def novel(self) -> list[Table]:
        """The chapters."""
        return self.tables(*NOVEL)

    def start(self, find: str, replace_with: str = "×", **asked: Any) -> ShownPlan:
        """Previews a replacement in the project."""
        return self.preview.start(self.principal, asked_for(find, replace_with, **asked))

    def read(self, plan_id: int) -> Plan:
        """A plan as it is stored."""
        return self.preview.read(self.principal, plan_id).plan

    def strings(self, plan_id: int) -> list[PlannedString]:
        """All strings of a plan, in their order."""
        with self.bench.store.for_all("test") as work:
            return work.plans.strings_of_matches(plan_id, after=0, limit=100_000)

    def documents(self) -> dict[int, tuple[int, str]]:
        """Every document of the project, with its revision."""
        with self.bench.store.for_all("test") as work:
            ids = work.tables.ids(self.project.id, after=0, limit=100_000)
            return {table_id: work.tables.read(table_id) for table_id in ids}

    def texts(self) -> list[tuple[int, str, str]]:
        """Every string of the project: table, pointer, text; in the order of matches."""
        return [
            (table_id, string.json_pointer, string.text)
            for table_id, (_, text) in self.documents().items()
            for string in strings_at(parse_exact(text), [""])
        ]

    def orders(self) -> list[object]:
        """The plans that wait for a worker; their orders are done then."""
        with self.bench.store.for_all("test") as work:
            taken = work.outbox.take(self.project.id, window=1_000)
            for order_id, _ in taken:
                work.outbox.begin(order_id)
                work.outbox.finish(order_id)
        return [body["plan_id"] for _, body in taken if body["kind"] == "plan"]


def asked_for(find: str, replace_with: str = "×", **asked: Any) -> AskedReplacement:
    """A replacement; options of the request and of what is asked together."""
    of_request = ("case_sensitive", "whole_word", "regex", "whole_characters")
    options = {name: asked.pop(name) for name in of_request if name in asked}
    return AskedReplacement(ReplaceRequest(find, replace_with, **options), **asked)


def hashed(text: str) -> str:
    """16 hex digits, as logs have them."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
