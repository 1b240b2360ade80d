"""Two databases share a turbopuffer account, and neither touches the namespaces of the other."""

from __future__ import annotations

from contextlib import ExitStack

from context_search.maintenance.cleanup_report import CleanupReport
from context_search.maintenance.sweep import FindUnknownNamespaces
from context_search.postgres import migrations
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from testing.in_memory.vectors import DictVectors
from tests.builders import Workbench
from tests.stack import DatabaseFactory


def test_two_databases_never_share_or_delete_a_namespace(databases: DatabaseFactory) -> None:
    vectors = DictVectors()
    with ExitStack() as stack:
        stores = []
        for _ in range(2):
            url = stack.enter_context(databases.empty())
            migrations.apply(url)
            database = Database(url)
            stack.callback(database.close)
            stores.append(PostgresStore(database))
        names = []
        for store in stores:
            bench = Workbench.of(store)
            _, index = bench.tool(bench.table({}))
            assert (bench.project.id, index.table_id) == (1, 1)
            names.append(index.generation.namespace)
            vectors.namespaces[names[-1]] = {}
        assert names[0] != names[1]
        for store in stores:
            report = CleanupReport()
            FindUnknownNamespaces(store, vectors, deletes=True).run(report)
            assert report.unknown_namespaces == 0
        assert set(vectors.namespaces) == set(names)
