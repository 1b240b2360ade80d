"""Other programs that work on the same database and namespaces: only triggers see them."""

from __future__ import annotations

import json

from context_search.adapters.in_memory.removal import remove_nodes
from tests.simulation.world import World


def edit_by_sql(world: World, document: dict[str, object]) -> None:
    """``UPDATE context_table SET data = …``; nobody sends the messages that the trigger wrote."""
    text = json.dumps(document, ensure_ascii=False)
    world.note(f"other program: edit {text[:60]}")
    world.seen["other program: edit"] += 1
    with world.memory.transaction() as work:
        work.tables.replace(world.table.id, text, expected_revision=None)


def delete_table_by_sql(world: World) -> bool:
    """``DELETE FROM context_table``: the foreign keys take everything but the generations.

    Those stay as they are and belong to no index any more. False when there is no such row.
    """
    table_id = world.table.id
    if table_id not in world.memory.rows.tables:
        return False
    world.note("other program: delete the table")
    world.seen["other program: delete table"] += 1
    with world.memory.transaction():
        rows = world.memory.rows
        of_table = [node.id for node in rows.nodes.values() if node.table_id == table_id]
        remove_nodes(rows, world.clock, of_table)
        indexes = {row.id for row in rows.indexes.values() if row.table_id == table_id}
        for generation in list(rows.generations.values()):
            if generation.index_id in indexes:
                rows.change(rows.generations, generation.id, index_id=None)
        for index_id in indexes:
            del rows.indexes[index_id]
        for tool in [row for row in rows.tools.values() if row.scope.table_id == table_id]:
            rows.coverage.pop(tool.id, None)
            del rows.tools[tool.id]
        del rows.tables[table_id]
    return True


def delete_tool_by_sql(world: World) -> bool:
    """``UPDATE tool SET deleted_at``, ``DELETE FROM tool``, or the former taken back.

    False when there is none.
    """
    rows = world.memory.rows
    own = world.principal.project_id
    tools = sorted(tool.id for tool in rows.tools.values() if tool.project_id == own)
    if not tools:
        return False
    tool_id = world.random.choice(tools)
    tool = rows.tools[tool_id]
    is_soft = world.random.random() < 0.5
    what = "restore" if tool.deleted and is_soft else "mark deleted" if is_soft else "delete"
    world.note(f"other program: {what} tool {tool_id}")
    world.seen[f"other program: {what} tool"] += 1
    with world.memory.transaction():
        if is_soft:
            rows.change(rows.tools, tool_id, deleted=not tool.deleted)
        else:
            rows.coverage.pop(tool_id, None)
            del rows.tools[tool_id]
    return True


def lose_documents(world: World) -> bool:
    """Half of a namespace is lost, or all of it; False when there is none."""
    names = sorted(world.documents.namespaces)
    if not names:
        return False
    name = world.random.choice(names)
    world.is_damaged = True
    if world.random.random() < 0.5:
        world.note(f"other program: drop {name}")
        world.seen["other program: drop namespace"] += 1
        del world.documents.namespaces[name]
        return True
    world.note(f"other program: lose half of {name}")
    world.seen["other program: lose documents"] += 1
    for doc_id in sorted(world.documents.namespaces[name])[::2]:
        del world.documents.namespaces[name][doc_id]
    return True
