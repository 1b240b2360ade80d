"""What was compared before migration 0005 needs no second comparison after it."""

from __future__ import annotations

from pathlib import Path

from context_search.adapters.postgres import migrations
from context_search.adapters.postgres.pool import Database
from context_search.adapters.postgres.store import PostgresStore
from context_search.adapters.postgres.url import DatabaseUrl
from tests.steps import SMALL

BEFORE = """
    INSERT INTO project (name) VALUES ('p');
    INSERT INTO context_table (project_id, name, data) VALUES (1, 't', '{}'), (1, 'u', '{}');
    INSERT INTO tool (table_id, type, name) SELECT id, 'search', 'find' FROM context_table;
"""


def test_the_compared_revisions_of_generations_are_kept(
    empty_database_url: DatabaseUrl, tmp_path: Path
) -> None:
    shipped = migrations.read(migrations.shipped())
    for one in shipped[:4]:
        (tmp_path / one.name).write_text(one.sql)
    migrations.apply(empty_database_url, tmp_path)
    database = Database(empty_database_url)
    try:
        with database.transaction() as tx:
            tx.run(BEFORE)
            for table_id, revision in ((1, 1), (2, None)):
                tx.run(
                    """
                    WITH made AS (
                        INSERT INTO search_index (project_id, table_id, config, config_hash)
                        VALUES (1, :table, CAST(:config AS jsonb), :hash) RETURNING id),
                    built AS (
                        INSERT INTO index_generation
                            (index_id, number, namespace, state, config, enumerated_revision)
                        SELECT id, 1, 'n' || id, 'active', CAST(:config AS jsonb),
                               CAST(:revision AS bigint) FROM made RETURNING id)
                    SELECT FROM built
                    """,
                    table=table_id,
                    config=SMALL.to_json(),
                    hash=SMALL.config_hash,
                    revision=revision,
                )
            tx.run("UPDATE search_index SET active_generation_id = id")
            tx.run("INSERT INTO coverage SELECT tool.id, tool.id, '' FROM tool")
        migrations.apply(empty_database_url)
        with PostgresStore(database).transaction() as work:
            assert [work.indexes.uncompared(index_id) for index_id in (1, 2)] == [[], [2]]
    finally:
        database.close()
