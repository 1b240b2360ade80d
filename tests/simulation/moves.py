"""What may happen next: users, workers, cleanup, kills, time and the network."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

from context_search.domain.config import SearchConfig
from context_search.domain.model import Scope
from context_search.services.create_search_tool import NewSearchTool
from tests.simulation.world import CONFIG, LAMBDA_S, WITH_WINDOWS, World

MAX_WORKERS = 3
MAX_USERS = 3
SCOPES = ("", "/a", "/b", "/b/c")
CHANCES = (0.02, 0.08, 0.08, 0.2)
SWARM = (0.2, 1.0, 1.0, 5.0)
PAUSES_S = (0.1, 0.1, 1.0, 5.0, 30.0, 130.0, 400.0)


class Moves:
    """Chooses at random. Each history has its own weather and its own favourite moves.

    The latter is swarm testing (Groce et al., ISSTA 2012): some faults need much of one thing and
    little of another.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.random = world.random
        self.documents = [world.document()]
        world.weather.chance = self.random.choice(CHANCES)
        running: list[tuple[float, Callable[[], None]]] = [
            (10, self._receive_one),
            (1, self._kill_one),
            (2, self._pass_time),
            (1, self._arrive_late),
        ]
        users: list[tuple[float, Callable[[], None]]] = [
            (3, self._edit),
            (1.5, self._create_tool),
            (6 if world.is_crowded else 2, self._search),
            (3 if world.is_crowded else 1, self._clean_up),
            (0.7, self._delete_tool),
            (0.5, self._rebuild),
            (0.3, self._roll_back),
            (0.02, self._delete_table),
        ]
        moves = [(40.0, self._resume_one), *self._varied(running), *self._varied(users)]
        self.moves = [move for _, move in moves]
        self.limits = list(itertools.accumulate(weight for weight, _ in moves))
        self.without_users = 1 + len(running)

    def _varied(
        self, moves: list[tuple[float, Callable[[], None]]]
    ) -> list[tuple[float, Callable[[], None]]]:
        return [(weight * self.random.choice(SWARM), move) for weight, move in moves]

    def step(self) -> None:
        """Lets one thing happen."""
        has_room = self.world.scheduler.count("user", "cleanup") < MAX_USERS
        count = len(self.moves) if has_room else self.without_users
        [move] = self.random.choices(self.moves[:count], cum_weights=self.limits[:count])
        move()
        self.world.after_step()

    def _resume_one(self) -> None:
        turn = self.random.random() * max(
            1.0, sum(task.pace for task in self.world.scheduler.tasks)
        )
        for task in self.world.scheduler.tasks:
            turn -= task.pace
            if turn < 0:
                self.world.scheduler.resume(task)
                return

    def _kill_one(self) -> None:
        if self.world.scheduler.tasks:
            self.world.scheduler.kill(self.random.choice(self.world.scheduler.tasks))

    def _pass_time(self) -> None:
        world = self.world
        world.clock.advance(self.random.choice(PAUSES_S))
        for task in list(world.scheduler.tasks):
            if world.clock.monotonic() - task.started_s > LAMBDA_S:
                world.scheduler.kill(task)
        world.network.deliver_overdue()

    def _arrive_late(self) -> None:
        if self.world.network.late:
            self.world.network.deliver(self.random.randrange(len(self.world.network.late)))

    def _edit(self) -> None:
        world = self.world
        if self.random.random() < 0.4:
            document = self.random.choice(self.documents)
        else:
            document = world.document()
            if self.random.random() < 0.2:
                del document["a"]
            self.documents.append(document)
        run = lambda: world.replace_document(world.principal, world.table.id, document)  # noqa: E731
        texts = json.dumps(document, ensure_ascii=False)
        world.spawn("user", f"edit {texts[:60]}", run)

    def _create_tool(self) -> None:
        world = self.world
        wanted = NewSearchTool(
            project_id=world.principal.project_id,
            name="s",
            description=None,
            scope=Scope(world.table.id, self.random.choice(SCOPES)),
            index=self.random.choice([CONFIG, CONFIG, CONFIG, WITH_WINDOWS]),
            search=SearchConfig(strategy="hybrid"),
        )
        name = f"create tool {wanted.scope.json_pointer!r}"
        world.spawn("user", name, lambda: world.create_tool(wanted))

    def _some_tool(self) -> int | None:
        tools = self.world.memory.rows.tools.values()
        live = [tool.id for tool in tools if not tool.deleted]
        return self.random.choice(live) if live else None

    def _with_some_tool(self, name: str, run: Callable[[int], object]) -> None:
        tool_id = self._some_tool()
        if tool_id is not None:
            self.world.spawn("user", f"{name} {tool_id}", lambda: run(tool_id))

    def _delete_tool(self) -> None:
        world = self.world
        self._with_some_tool("delete tool", lambda tool: world.delete_tool(world.principal, tool))

    def _rebuild(self) -> None:
        world = self.world
        self._with_some_tool("rebuild", lambda tool: world.start_rebuild(tool, world.principal))

    def _roll_back(self) -> None:
        world = self.world
        self._with_some_tool("roll back", lambda tool: world.roll_back(tool, world.principal))

    def _search(self) -> None:
        world = self.world
        query = self.random.choice(["quick fox", "zebras", "狐狸", "box"])
        self._with_some_tool(
            "search",
            lambda tool: world.on_answer(world.search(tool, world.principal, query, 20)),
        )

    def _delete_table(self) -> None:
        world = self.world
        run = lambda: world.delete_table(world.principal, world.table.id)  # noqa: E731
        world.spawn("user", "delete table", run)

    def _clean_up(self) -> None:
        self.world.clean_up()

    def _receive_one(self) -> None:
        deliverable = self.world.queue.deliverable()
        if deliverable and self.world.scheduler.count("node", "enumerate") < MAX_WORKERS:
            self.world.receive(self.random.choice(deliverable))
