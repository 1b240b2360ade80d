"""Notes which situations occur: a simulation proves nothing about what never happens in it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import FrameType

from context_search.core.ids import base36
from context_search.ranking.search import SearchResult
from local.options import ROOT
from scripts.shape.modules import is_use_case, name_of
from tests.faults.simulation.model.rows import GenerationRow, Rows
from tests.faults.simulation.scheduler import Task
from tests.faults.simulation.world import World


class Sightings:
    """Counts situations in ``world.seen``, and keeps where tasks pause and where they are killed.

    A place is the function of a use case that makes the outside call, and the line of it.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.paused: set[str] = set()
        self.killed: set[str] = set()
        self.version = 0
        self.generations: dict[int, GenerationRow] = {}
        self.evicted: set[int] = set()
        self.others = world.after_step, world.on_answer
        world.after_step = self.after_step
        world.on_answer = self.on_answer
        self.kill: Callable[[Task], None] = world.scheduler.kill
        world.scheduler.kill = self.on_kill  # type: ignore[method-assign]

    def after_step(self) -> None:
        """Looks at what was written, and at who waits where."""
        self.others[0]()
        for task in self.world.scheduler.tasks:
            self.paused.update(place(task))
        rows = self.world.model_store.rows
        if rows.version != self.version:
            self.version = rows.version
            self._generations(rows)
            self._evictions(rows)
            self._nodes(rows)
            self._tools(rows)

    def on_kill(self, task: Task) -> None:
        """Notes where the task stands."""
        self.killed.update(place(task))
        self.kill(task)

    def on_answer(self, answer: SearchResult) -> None:
        """Notes what searches find."""
        self.others[1](answer)
        for hit in answer.hits:
            self._see("hit: stale" if hit.chunk.stale else "hit: live")
            if answer.target.reach.filter:
                self._see("hit: through a filter")

    def _see(self, what: str) -> None:
        self.world.seen[what] += 1

    def _generations(self, rows: Rows) -> None:
        for row in rows.generations.values():
            before = self.generations.get(row.id)
            if before is None or before.state == row.state:
                continue
            self._see(f"generation: {before.state} to {row.state}")
        self.generations = dict(rows.generations)

    def _evictions(self, rows: Rows) -> None:
        evicted = {row.id for row in rows.indexes.values() if row.evicted_at}
        self.world.seen["index: evicted"] += len(evicted - self.evicted)
        back = self.evicted & set(rows.indexes) - evicted
        self.world.seen["index: came back"] += len(back)
        self.evicted = evicted

    def _nodes(self, rows: Rows) -> None:
        for node in rows.nodes.values():
            if node.state in ("skipped", "quarantined"):
                self._see(f"{node.state}: {(node.last_error or {}).get('code')}")
        if any(row.state == "partial" for row in rows.sets.values()):
            self._see("set: takes chunks over")
        moved = [
            row for row in rows.chunks.values() if base36(row.set_id) != row.doc_id.split(".")[3]
        ]
        self.world.seen["chunk: stayed over an edit"] += len(moved)
        if any(row.window_count > 1 and row.present for row in rows.chunks.values()):
            self._see("chunk: several windows")

    def _tools(self, rows: Rows) -> None:
        covered = sorted((row.index_id, row.scope) for row in rows.coverage.values())
        if any(one[0] == two[0] and one[1] != two[1] for one, two in pairwise(covered)):
            self._see("tools: two scopes on one index")
        if len({index_id for index_id, _ in covered}) > 1:
            self._see("tools: two indexes of one table")
        if any(not row.is_there for row in rows.tools.values()) and covered:
            self._see("tool: one deleted, another not")
        if any(row.remove_at for row in rows.tables.values()) and rows.nodes:
            self._see("table: deleted with its strings indexed")


def place(task: Task) -> set[str]:
    """Returns where a task waits: one place, or none when it has not begun."""
    frame: FrameType | None = task.body.gr_frame
    while frame is not None:
        code = frame.f_code
        if _holds_use_cases(code.co_filename):
            return {f"{code.co_qualname}:{frame.f_lineno - code.co_firstlineno}"}
        frame = frame.f_back
    return set()


@cache
def _holds_use_cases(filename: str) -> bool:
    path = Path(filename)
    return path.is_relative_to(ROOT / "shared") and is_use_case(name_of(path, ROOT))
