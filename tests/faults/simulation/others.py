"""Other programs that work on the same database and namespaces: only triggers see them."""

from __future__ import annotations

from context_search.core.json_text import to_json
from tests.faults.simulation.model.catalog import ModelTables
from tests.faults.simulation.model.removals import remove_table, remove_tool
from tests.faults.simulation.world import World


def edit_by_sql(world: World, document: dict[str, object]) -> None:
    """``UPDATE context_table SET data = …``; nobody sends the messages that the trigger wrote."""
    text = to_json(document)
    world.note(f"other program: edit {text[:60]}")
    world.seen["other program: edit"] += 1
    with world.model_store.for_all("test") as work:
        before = world.model_store.rows.tables.get(world.table.id)
        changed = work.tables.replace(world.table.id, text, expected_revision=None)
        if changed and before and changed.revision > before.revision:
            world.sql_revisions.add((changed.id, changed.revision))


def delete_table_by_sql(world: World) -> bool:
    """``DELETE FROM context_table``: the foreign keys take everything but the generations.

    Those stay as they are and belong to no index any more. False when there is no such row.
    """
    table_id = world.table.id
    if table_id not in world.model_store.rows.tables:
        return False
    world.note("other program: delete the table")
    world.seen["other program: delete table"] += 1
    with world.model_store.for_all("test"):
        remove_table(world.model_store.rows, world.clock, table_id)
    return True


def move_table_to_trash(world: World) -> bool:
    """``UPDATE context_table SET deleted_at``, or that taken back; False without a table."""
    rows, table_id = world.model_store.rows, world.table.id
    if table_id not in rows.tables:
        return False
    is_back = rows.tables[table_id].deleted
    what = "restore" if is_back else "put away"
    world.note(f"other program: {what} the table")
    world.seen[f"other program: {what} table"] += 1
    with world.model_store.for_all("test"):
        ModelTables(rows, world.clock).put_away(table_id, back=is_back)
    return True


def delete_tool_by_sql(world: World) -> bool:
    """``UPDATE tool SET deleted_at``, ``DELETE FROM tool``, or the former taken back.

    False when there is none.
    """
    rows = world.model_store.rows
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
    with world.model_store.for_all("test"):
        if is_soft:
            rows.change(rows.tools, tool_id, deleted=not tool.deleted)
        else:
            remove_tool(rows, tool_id)
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
