"""What must hold where a project may hold little: who is evicted, and who waits."""

from __future__ import annotations

from datetime import timedelta

from context_search.core.limits import Usage
from context_search.ranking.search import SearchResult
from tests.faults.simulation.invariants import check
from tests.faults.simulation.model.rows import IndexRow, NodeRow, Rows
from tests.faults.simulation.world import World


class Crowd:
    """Watches evictions, besides ``Watch``; remembers how things were before."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.indexes: dict[int, IndexRow] = {}
        self.used = Usage(0, 0)
        self.version = 0
        self.others = world.after_step, world.on_answer
        world.after_step = self.after_step
        world.on_answer = self.on_answer

    def after_step(self) -> None:
        """Only a cold index of a project over its limit is evicted, and then it holds nothing."""
        self.others[0]()
        rows = self.world.model_store.rows
        if rows.version != self.version:
            self.version = rows.version
            self._judge(rows)

    def _judge(self, rows: Rows) -> None:
        for index in rows.indexes.values():
            before = self.indexes.get(index.id)
            if index.evicted_at and before and before.evicted_at is None:
                check(self._is_cold(before), "I17 evicted in use", before)
                check(self._is_over(self.used), "I17 evicted within the limits", self.used)
            if index.evicted_at:
                nodes = [n for n in rows.nodes.values() if n.generation_id == index.generation_id]
                check(not nodes, "I17 an evicted index has nodes", nodes)
        self.indexes = dict(rows.indexes)
        self.used = used(rows)

    def _is_cold(self, index: IndexRow) -> bool:
        return index.used_at < self.world.clock.now() - timedelta(seconds=self.world.limits.idle_s)

    def _is_over(self, usage: Usage) -> bool:
        return not usage.fits(allowed(self.world))

    def on_answer(self, answer: SearchResult) -> None:
        """An evicted index is never passed off as one without hits."""
        self.others[1](answer)
        is_evicted = answer.target.status == "evicted"
        check(is_evicted == (answer.degraded == ["index_evicted"]), "I17 silent", answer)
        check(not (is_evicted and answer.hits), "I17 hits of an evicted index", answer)


def used(rows: Rows) -> Usage:
    """Returns what the one project holds."""
    kept = {g.namespace: g.config for g in rows.generations.values() if g.state != "retired"}
    chunks = [chunk for chunk in rows.chunks.values() if chunk.namespace in kept]
    sizes = [chunk.window_count * kept[chunk.namespace].dimensions * 4 for chunk in chunks]
    return Usage(len(chunks), sum(sizes))


def allowed(world: World) -> Usage:
    """Returns what it may hold."""
    return Usage(world.limits.max_chunks, world.limits.max_vector_bytes)


def waits_for_room(world: World, node: NodeRow) -> bool:
    """Whether a node is skipped because the project is full, and the project is."""
    reason = node.last_error or {}
    if node.state != "skipped" or reason.get("code") != "PROJECT_FULL":
        return False
    needed = Usage(int(str(reason["chunks"])), int(str(reason["vector_bytes"])))
    with world.model_store.for_all("test") as work:
        index_id = world.model_store.rows.generations[node.generation_id].index_id
        room = work.quotas.room(index_id or 0, world.limits)
    check(not needed.fits(room), "I17 waits although there is room", (node, room))
    return True


def at_rest(world: World) -> None:
    """A project is within its limits, or every index of it is in use."""
    rows = world.model_store.rows
    if used(rows).fits(allowed(world)):
        return
    idle_since = world.clock.now() - timedelta(seconds=world.limits.idle_s)
    for generation in rows.generations.values():
        index = rows.indexes[generation.index_id or 0]
        is_used = any(row.namespace == generation.namespace for row in rows.chunks.values())
        is_over = generation.state == "previous" or index.used_at < idle_since
        check(not (is_used and is_over), "I17 over the limit with something to give up", index)
