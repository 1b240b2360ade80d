"""A table that somebody deletes while another looks at it and waits for its row."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from context_search.catalog.tables import ManageTables
from context_search.core.errors import ConflictError, NotFoundError
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from tests.builders import Workbench, waits
from tests.stack import eventually


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.of(PostgresStore(module_database))


@pytest.mark.parametrize(
    ("meanwhile", "refusal"), [("deleted", NotFoundError), ("changed", ConflictError)]
)
def test_a_revision_that_is_gone_when_the_row_is_free_is_missing_or_another(
    bench: Workbench, meanwhile: str, refusal: type[Exception]
) -> None:
    table = bench.table({"a": 1})
    delete = ManageTables(bench.store).delete
    with ThreadPoolExecutor(2) as threads:
        with bench.store.for_all("test") as work:
            if meanwhile == "deleted":
                work.tables.mark_deleted(table.id)
            else:
                work.tables.replace(table.id, "2", expected_revision=table.revision)
            refused = threads.submit(delete, bench.principal, table.id, if_revision=table.revision)
            # The other has found the table, and waits for its row.
            look = threads.submit(eventually, lambda: waits(bench, "FOR SHARE"))
            assert look.result()
        with pytest.raises(refusal):
            refused.result()
