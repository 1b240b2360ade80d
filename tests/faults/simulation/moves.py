"""What may happen next: users, other programs, workers, cleanup, kills, time and the network."""

from __future__ import annotations

import bisect
import itertools

from tests.faults.simulation import others
from tests.faults.simulation.conditions import LAMBDA_S
from tests.faults.simulation.editing import Editors
from tests.faults.simulation.replacing import Replacers
from tests.faults.simulation.users import Move, Users
from tests.faults.simulation.world import World

MAX_WORKERS = 3
MAX_USERS = 3
CHANCES = (0.02, 0.08, 0.08, 0.2)
STALLS = (0.0, 0.2, 0.6)
SWARM = (0.2, 1.0, 1.0, 5.0)
SHORT_PAUSES_S = (*[0.1] * 4, *[1.0] * 3, *[5.0] * 2)
PAUSES_S = (*SHORT_PAUSES_S, 30.0, 130.0, 400.0)
LONG_PAUSES_S = (*PAUSES_S, 1_500.0)
FIRST_TOOLS = (0, 0, 0, 5)
TRIES = 8


class Moves:
    """Chooses at random. Each history has its own weather and its own favourite moves.

    The latter is swarm testing (Groce et al., ISSTA 2012): some faults need much of one thing and
    little of another.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.random = world.random
        users, replacers = Users(world), Replacers(world)
        for _ in range(1 if world.is_small else self.random.choice(FIRST_TOOLS)):
            world.create_tool(users.wanted_tool())
        if world.neighbour is not None:
            world.create_tool(users.tool_next_door())
        world.fault_chances.chance = self.random.choice(CHANCES)
        world.scheduler.stall_chance = self.random.choice(STALLS)
        self.pauses = self.random.choice((PAUSES_S, SHORT_PAUSES_S, SHORT_PAUSES_S, LONG_PAUSES_S))
        running: list[tuple[float, Move]] = [
            (10, self._receive_one),
            (0.5, self._kill_one),
            (2, self._pass_time),
            (1, self._arrive_late),
        ]
        others_do: list[tuple[float, Move]] = [
            (0.3, lambda: others.edit_by_sql(world, users.next_document())),
            (0.01, lambda: others.delete_table_by_sql(world)),
            (0.05, lambda: others.delete_tool_by_sql(world)),
            (0.05, lambda: others.move_table_to_trash(world)),
            (0.01, lambda: others.lose_documents(world)),
            *replacers.others(),
        ]
        moves = [
            (40.0, world.scheduler.resume_any),
            *self._varied([*running, *others_do]),
            *self._varied([*users.moves(), *Editors(world).moves(), *replacers.moves()]),
        ]
        self.moves = [move for _, move in moves]
        self.limits = list(itertools.accumulate(weight for weight, _ in moves))
        self.without_users = 1 + len(running) + len(others_do)

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

    def _receive_one(self) -> bool:
        if self.world.scheduler.count("node", "enumerate", "plan") >= MAX_WORKERS:
            return False
        envelope = self.world.queue.next()
        if envelope is not None:
            self.world.receive(envelope)
        return envelope is not None
