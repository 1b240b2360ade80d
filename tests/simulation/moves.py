"""What may happen next: users, other programs, workers, cleanup, kills, time and the network."""

from __future__ import annotations

import bisect
import itertools
import json
from collections.abc import Callable

from context_search.domain.config import SearchConfig
from context_search.domain.model import Scope
from context_search.services.create_search_tool import NewSearchTool
from tests.simulation import others
from tests.simulation.conditions import CONFIGS, LAMBDA_S, QUERIES, SCOPES, SMALL_SCOPES
from tests.simulation.world import World

MAX_WORKERS = 3
MAX_USERS = 3
CHANCES = (0.02, 0.08, 0.08, 0.2)
STALLS = (0.0, 0.2, 0.6)
SWARM = (0.2, 1.0, 1.0, 5.0)
SHORT_PAUSES_S = (*[0.1] * 4, *[1.0] * 3, *[5.0] * 2)
PAUSES_S = (*SHORT_PAUSES_S, 30.0, 130.0, 400.0)
LONG_PAUSES_S = (*PAUSES_S, 1_500.0)
TRIES = 8
Move = Callable[[], object]


class Moves:
    """Chooses at random. Each history has its own weather and its own favourite moves.

    The latter is swarm testing (Groce et al., ISSTA 2012): some faults need much of one thing and
    little of another.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.random = world.random
        self.documents = [world.document()]
        if world.is_small:
            world.create_tool(self._wanted_tool())
        world.weather.chance = self.random.choice(CHANCES)
        world.scheduler.stall_chance = self.random.choice(STALLS)
        self.pauses = self.random.choice((PAUSES_S, SHORT_PAUSES_S, SHORT_PAUSES_S, LONG_PAUSES_S))
        running: list[tuple[float, Move]] = [
            (10, self._receive_one),
            (0.5, self._kill_one),
            (2, self._pass_time),
            (1, self._arrive_late),
        ]
        others_do: list[tuple[float, Move]] = [
            (0.3, self._edit_by_sql),
            (0.01, self._delete_table_by_sql),
        ]
        moves = [
            (40.0, world.scheduler.resume_any),
            *self._varied([*running, *others_do]),
            *self._varied(self._users()),
        ]
        self.moves = [move for _, move in moves]
        self.limits = list(itertools.accumulate(weight for weight, _ in moves))
        self.without_users = 1 + len(running) + len(others_do)

    def _users(self) -> list[tuple[float, Move]]:
        is_crowded, is_small = self.world.is_crowded, self.world.is_small
        return [
            (1, self._edit),
            (0.1 if is_small else 0.7, self._create_tool),
            (4 if is_crowded else 0.5, self._search),
            (2 if is_crowded else 0.5, self.world.clean_up),
            (0.05 if is_small else 0.3, self._delete_tool),
            (0.3, self._rebuild),
            (0.3, self._roll_back),
            (0.1, self._reindex),
            (0.2, self._redrive),
            (0.02, self._delete_table),
        ]

    def _varied(self, moves: list[tuple[float, Move]]) -> list[tuple[float, Move]]:
        return [(weight * self.random.choice(SWARM), move) for weight, move in moves]

    def step(self) -> None:
        """Lets one thing happen: what is impossible just now is not chosen for long."""
        for _ in range(TRIES):
            if self._tried():
                break
        self.world.after_step()

    def _tried(self) -> bool:
        has_room = self.world.scheduler.count("user", "cleanup") < MAX_USERS
        first = 0 if self.world.scheduler.tasks else 1
        last = len(self.moves) if has_room else self.without_users
        below = self.limits[0] * first
        chosen = below + self.random.random() * (self.limits[last - 1] - below)
        move = self.moves[bisect.bisect_right(self.limits, chosen, first, last - 1)]
        self.world.scheduler.latest = None
        return move() is not False

    def _kill_one(self) -> bool:
        if not self.world.scheduler.tasks:
            return False
        task = self.random.choice(self.world.scheduler.tasks)
        self.world.seen[f"kill: {task.kind}"] += 1
        self.world.scheduler.kill(task)
        return True

    def _pass_time(self) -> None:
        world = self.world
        world.clock.advance(self.random.choice(self.pauses))
        for task in list(world.scheduler.tasks):
            if world.clock.monotonic() - task.started_s > LAMBDA_S:
                world.seen["kill: out of time"] += 1
                world.scheduler.kill(task)
        world.network.deliver_overdue()

    def _arrive_late(self) -> bool:
        late = self.world.network.late
        if late:
            self.world.network.deliver(self.random.randrange(len(late)))
        return bool(late)

    def _next_document(self) -> dict[str, object]:
        if self.random.random() < 0.4:
            return self.random.choice(self.documents)
        document = self.world.document()
        if self.random.random() < 0.2:
            del document["a"]
        self.documents.append(document)
        return document

    def _edit(self) -> None:
        world, document = self.world, self._next_document()
        run = lambda: world.replace_document(world.principal, world.table.id, document)  # noqa: E731
        texts = json.dumps(document, ensure_ascii=False)
        world.spawn("user", f"edit {texts[:60]}", run)

    def _edit_by_sql(self) -> None:
        others.edit_by_sql(self.world, self._next_document())

    def _delete_table_by_sql(self) -> None:
        others.delete_table_by_sql(self.world)

    def _wanted_tool(self) -> NewSearchTool:
        scopes = SMALL_SCOPES if self.world.is_small else SCOPES
        return NewSearchTool(
            project_id=self.world.principal.project_id,
            name="s",
            description=None,
            scope=Scope(self.world.table.id, self.random.choice(scopes)),
            index=self.random.choice(CONFIGS),
            search=SearchConfig(strategy="hybrid"),
        )

    def _create_tool(self) -> None:
        world, wanted = self.world, self._wanted_tool()
        name = f"create tool {wanted.scope.json_pointer!r}"
        world.spawn("user", name, lambda: world.create_tool(wanted))

    def _with_some_tool(self, name: str, run: Callable[[int], object]) -> None:
        tools = self.world.memory.rows.tools.values()
        live = [tool.id for tool in tools if not tool.deleted]
        if live:
            tool_id = self.random.choice(live)
            self.world.spawn("user", f"{name} {tool_id}", lambda: run(tool_id))

    def _delete_tool(self) -> None:
        world = self.world
        self._with_some_tool("delete tool", lambda tool: world.delete_tool(world.principal, tool))

    def _rebuild(self) -> None:
        world = self.world
        self._with_some_tool("rebuild", lambda tool: world.start_rebuild(tool, world.principal))

    def _reindex(self) -> None:
        world = self.world
        world.spawn("user", "reindex all", lambda: world.reindex(world.principal))

    def _roll_back(self) -> None:
        world = self.world
        self._with_some_tool("roll back", lambda tool: world.roll_back(tool, world.principal))

    def _redrive(self) -> None:
        world = self.world
        world.spawn("user", "redrive", lambda: world.redrive(10))

    def _search(self) -> None:
        world, query = self.world, self.random.choice(QUERIES)
        self._with_some_tool(
            "search",
            lambda tool: world.on_answer(world.search(tool, world.principal, query, 20)),
        )

    def _delete_table(self) -> None:
        world = self.world
        run = lambda: world.delete_table(world.principal, world.table.id)  # noqa: E731
        world.spawn("user", "delete table", run)

    def _receive_one(self) -> bool:
        if self.world.scheduler.count("node", "enumerate") >= MAX_WORKERS:
            return False
        deliverable = self.world.queue.deliverable()
        if deliverable:
            self.world.receive(self.random.choice(deliverable))
        return bool(deliverable)
