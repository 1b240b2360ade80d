"""What users may do next: edits, tools, searches, rebuilds, and the scheduled cleanup."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from context_search.catalog.tools import NewSearchTool
from context_search.core.config import SearchConfig
from context_search.core.model import Scope
from tests.faults.simulation.conditions import CONFIGS, QUERIES, SCOPES, SMALL_SCOPES
from tests.faults.simulation.world import World

Move = Callable[[], object]


class Users:
    """Whoever calls the API; each call is a task of its own."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.random = world.random
        self.documents = [world.document()]

    def moves(self) -> list[tuple[float, Move]]:
        """Returns what users do, and how often, one thing against another."""
        filtered: list[tuple[float, Move]] = [(2, self._search)]
        return [
            *self._usual_moves(),
            *self._project_moves(),
            *self._neighbours_moves(),
            *(filtered if self.world.filters.are_there else []),
        ]

    def _neighbours_moves(self) -> list[tuple[float, Move]]:
        if self.world.neighbour is None:
            return []
        return [
            (1, self._edit_next_door),
            (1, self._edit),
            (0.5, self._reindex),
            (0.03, self._delete_next_door),
        ]

    def _edit_next_door(self) -> None:
        world, document = self.world, self.world.document()
        run = lambda: world.replace_document(world.neighbour, world.next_door.id, document)  # type: ignore[arg-type]  # noqa: E731
        world.spawn("user", "edit next door", run)

    def _delete_next_door(self) -> None:
        world = self.world
        run = lambda: world.delete_project(world.next_door.project_id)  # noqa: E731
        world.spawn("user", "delete project next door", run)

    def _project_moves(self) -> list[tuple[float, Move]]:
        world = self.world
        if not world.mutation.has_project_index:
            return []
        switches: list[tuple[float, str, Move]] = [
            (
                0.5,
                "switch project index on",
                lambda: world.project_indexes.switch_on(world.principal),
            ),
            (
                0.1,
                "switch project index off",
                lambda: world.project_indexes.switch_off(world.principal),
            ),
            (0.2, "rebuild project", lambda: world.rebuilds.start_of_project(world.principal)),
            (
                0.2,
                "roll back project",
                lambda: world.rebuilds.roll_back_of_project(world.principal),
            ),
        ]
        return [
            (often, lambda name=name, run=run: world.spawn("user", name, run))  # type: ignore[misc]
            for often, name, run in switches
        ]

    def _usual_moves(self) -> list[tuple[float, Move]]:
        if self.world.is_small:
            return [
                (1, self._edit),
                (1, self.world.clean_up),
                (0.3, self._search),
                (0.1, self._rebuild),
                (0.05, self._roll_back),
                (0.03, self._create_tool),
                (0.03, self._delete_tool),
            ]
        is_crowded = self.world.is_crowded
        return [
            (1, self._edit),
            (0.7, self._create_tool),
            (4 if is_crowded else 0.5, self._search),
            (2 if is_crowded else 0.5, self.world.clean_up),
            (0.3, self._delete_tool),
            (0.3, self._rebuild),
            (0.3, self._roll_back),
            (0.3, self._reindex),
            (0.2, self._redrive),
            (0.02, self._delete_table),
        ]

    def next_document(self) -> dict[str, object]:
        """Returns a new document, or one that was there before."""
        if self.random.random() < 0.4:
            return self.random.choice(self.documents)
        document = self.world.document()
        if self.random.random() < 0.2:
            del document["a"]
        self.documents.append(document)
        return document

    def _edit(self) -> None:
        world, document = self.world, self.next_document()
        now = world.model_store.rows.tables.get(world.table.id)
        if now and world.filters.only_fields_change():
            document = world.filters.fielded(json.loads(now.data_json))
            world.seen["edit: only of fields"] += 1
        run = lambda: world.replace_document(world.principal, world.table.id, document)  # noqa: E731
        texts = json.dumps(document, ensure_ascii=False)
        world.spawn("user", f"edit {texts[:60]}", run)

    def tool_next_door(self) -> NewSearchTool:
        """Returns the tool of the neighbour."""
        table = self.world.next_door
        scope, project_id = Scope(table.id, ""), table.project_id
        return replace(self.wanted_tool(), project_id=project_id, scope=scope)

    def wanted_tool(self) -> NewSearchTool:
        """Returns some Search Tool that somebody might create."""
        scopes = SMALL_SCOPES if self.world.is_small else SCOPES
        return NewSearchTool(
            project_id=self.world.principal.project_id,
            name="s",
            description=None,
            scope=Scope(self.world.table.id, self.random.choice(scopes)),
            index=self.random.choice(CONFIGS),
            search=SearchConfig(strategy="hybrid", **self.world.filters.of_a_tool()),  # type: ignore[arg-type]
        )

    def _create_tool(self) -> None:
        world, wanted = self.world, self.wanted_tool()
        name = f"create tool {wanted.scope.json_pointer!r}"
        world.spawn("user", name, lambda: world.create_tool(wanted))

    def _with_some_tool(self, name: str, run: Callable[[int], object]) -> None:
        own, tools = self.world.principal.project_id, self.world.model_store.rows.tools.values()
        live = [tool.id for tool in tools if tool.is_there and tool.project_id == own]
        if live:
            tool_id = self.random.choice(live)
            self.world.spawn("user", f"{name} {tool_id}", lambda: run(tool_id))

    def _delete_tool(self) -> None:
        world = self.world
        self._with_some_tool("delete tool", lambda tool: world.delete_tool(world.principal, tool))

    def _rebuild(self) -> None:
        world = self.world
        self._with_some_tool("rebuild", lambda tool: world.rebuilds.start(tool, world.principal))

    def _reindex(self) -> None:
        world = self.world
        world.spawn("user", "reindex all", lambda: world.rebuilds.reindex(world.principal))

    def _roll_back(self) -> None:
        world = self.world
        self._with_some_tool(
            "roll back", lambda tool: world.rebuilds.roll_back(tool, world.principal)
        )

    def _redrive(self) -> None:
        world = self.world
        world.spawn("user", "redrive", lambda: world.redrive(10))

    def _search(self) -> None:
        world, query = self.world, self.random.choice(QUERIES)
        wanted = world.filters.of_a_caller()
        self._with_some_tool(
            "search",
            lambda tool: world.on_answer(world.search(tool, world.principal, query, 20, wanted)),
        )

    def _delete_table(self) -> None:
        world = self.world
        run = lambda: world.delete_table(world.principal, world.table.id)  # noqa: E731
        world.spawn("user", "delete table", run)
