"""Contract of ``Store``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from context_search.catalog.rules.versions import HistoryLimits
from context_search.store import UnitOfWork
from tests.contract.store.bench import Bench
from tests.steps import table_of


class Interrupted(Exception):  # noqa: N818
    """What a test raises inside of a transaction."""


@contextmanager
def interrupted(bench: Bench) -> Iterator[UnitOfWork]:
    """A transaction that ends with an error."""
    with contextlib.suppress(Interrupted), bench.store.for_all("test") as work:
        yield work
        raise Interrupted


def test_an_error_takes_everything_back_in_every_table(bench: Bench) -> None:
    index, node_id = bench.node()
    claim = bench.claim(node_id)
    with interrupted(bench) as work:
        work.projects.lock_settings(HistoryLimits, index.project_id)
        work.projects.write_settings(index.project_id, HistoryLimits(keep_count=0))
        work.nodes.release([claim], retry_in_s=0, error=None, progressed=False)
        work.outbox.add([{"kind": "node", "node_id": 1}])
        work.nodes.remove([node_id])
        work.tables.mark_deleted(table_of(index))
        work.indexes.retire(index.id)
    with bench.store.for_all("test") as work:
        assert work.projects.settings(HistoryLimits, index.project_id).version == 0
        known = work.nodes.known(index.generation.id, table_of(index))
        assert [node.id for node in known] == [node_id]
        assert work.indexes.find(index.id) == index
        assert work.comparisons.is_compared(index)
        assert work.outbox.waiting(limit=9) == []
        work.nodes.hold([claim], lease_s=1)


def test_ids_of_a_transaction_that_was_taken_back_are_not_given_again(bench: Bench) -> None:
    taken_back: list[int] = []
    with interrupted(bench) as work:
        taken_back.append(work.projects.add("p").id)
    assert bench.project().id not in taken_back


def test_transactions_do_not_nest(bench: Bench) -> None:
    nested = bench.store.for_all("test")
    with bench.store.for_all("test"), pytest.raises(RuntimeError, match="do not nest"), nested:
        pass
