"""The states of generations: every statement that writes one is here."""

from __future__ import annotations

from context_search.core.config import IndexConfig
from context_search.core.ids import generation_namespace
from context_search.core.model import Generation, Index
from context_search.postgres.pool import Transaction

_ROOM = """
    (SELECT count(*) FROM index_generation AS other
     JOIN search_index AS of_other ON of_other.id = other.index_id
     WHERE of_other.project_id = search_index.project_id AND other.state = 'building') < :at_once
"""


def deployment(tx: Transaction) -> str:
    """Returns the id of this database's deployment."""
    [[found]] = tx.run("SELECT id FROM deployment")
    return str(found)


def add_active(
    tx: Transaction,
    index_id: int,
    config: IndexConfig,
    *,
    project_id: int,
    table_id: int | None,
    namespace: str | None = None,
) -> Generation:
    """Adds an empty generation, and makes it the one of its index that is searched."""
    number = _next_number(tx, index_id)
    name = namespace or _namespace(tx, project_id, table_id, index_id, number)
    [[generation_id]] = tx.run(
        """
        WITH added AS (
            INSERT INTO index_generation (index_id, number, namespace, state, config)
            VALUES (:index, :number, :namespace, 'active', CAST(:config AS jsonb))
            RETURNING id)
        UPDATE search_index SET active_generation_id = added.id FROM added
        WHERE search_index.id = :index RETURNING added.id
        """,
        index=index_id,
        number=number,
        namespace=name,
        config=config.to_json(),
    )
    return Generation(generation_id, name)


def add_rebuild(tx: Transaction, index: Index, config: IndexConfig, *, at_once: int) -> int:
    """Adds a generation that is built, or waits until fewer of the project are.

    The caller has the project locked.
    """
    number = _next_number(tx, index.id)
    [[generation_id]] = tx.run(
        f"""
        INSERT INTO index_generation (index_id, number, namespace, config, state)
        SELECT id, :number, :namespace, CAST(:config AS jsonb),
               CASE WHEN {_ROOM} THEN 'building' ELSE 'queued' END
        FROM search_index WHERE id = :index RETURNING id
        """,
        index=index.id,
        number=number,
        namespace=_namespace(tx, index.project_id, index.table_id, index.id, number),
        config=config.to_json(),
        at_once=at_once,
    )
    return int(generation_id)


def promote(tx: Transaction, generation_id: int, *, at_once: int) -> list[int]:
    """Lets a waiting generation be built where there is room; returns its index.

    The caller has the project locked.
    """
    rows = tx.run(
        f"""
        UPDATE index_generation SET state = 'building'
        FROM search_index WHERE search_index.id = index_id
          AND index_generation.id = :generation AND state = 'queued' AND {_ROOM}
        RETURNING index_id
        """,
        generation=generation_id,
        at_once=at_once,
    )
    return [index_id for [index_id] in rows]


def switch(tx: Transaction, to: Index) -> None:
    """Makes a generation the one that is searched; the one before it is kept, older ones retire."""
    generation_id = to.generation.id
    retire(
        tx,
        "index_id = :index AND state = 'previous' AND id <> :generation",
        index=to.id,
        generation=generation_id,
    )
    tx.run(
        """
        UPDATE index_generation SET state = 'previous', switched_at = clock_timestamp()
        WHERE index_id = :index AND state = 'active'
        """,
        index=to.id,
    )
    tx.run(
        """
        WITH earlier AS (
            UPDATE comparison SET revision = NULL, ordered_at = clock_timestamp()
            FROM index_generation WHERE index_generation.id = generation_id
              AND generation_id = :generation AND state <> 'building')
        UPDATE index_generation SET state = 'active' WHERE id = :generation
        """,
        generation=generation_id,
    )
    tx.run(
        """
        UPDATE search_index SET active_generation_id = :generation,
            config = CAST(:config AS jsonb), config_hash = :hash
        WHERE id = :index
        """,
        generation=generation_id,
        config=to.config.to_json(),
        hash=to.config.config_hash,
        index=to.id,
    )


def retire(tx: Transaction, condition: str, **values: object) -> int:
    """Retires the generations that meet a condition; returns how many. Cleanup deletes them."""
    return tx.execute(
        f"""
        UPDATE index_generation SET state = 'retired', retired_at = clock_timestamp()
        WHERE state <> 'retired' AND ({condition})
        """,
        **values,
    )


def _next_number(tx: Transaction, index_id: int) -> int:
    [[number]] = tx.run(
        "SELECT COALESCE(max(number), 0) + 1 FROM index_generation WHERE index_id = :index",
        index=index_id,
    )
    return int(number)


def _namespace(
    tx: Transaction, project_id: int, table_id: int | None, index_id: int, number: int
) -> str:
    return generation_namespace(
        deployment(tx), project_id=project_id, table_id=table_id, index_id=index_id, number=number
    )
