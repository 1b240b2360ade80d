"""A message to compare an index that fails says so, until one succeeds."""

from __future__ import annotations

import pytest

from context_search.core.callers import Internal
from context_search.indexing.comparing import Comparer, Limits
from tests.system import System, prose


class Breaking(Limits):
    """Breaks in the middle of a comparison."""

    @property
    def max_node_chars(self) -> int:
        raise MemoryError("canary-text")


def test_an_order_that_fails_is_shown_without_what_it_quotes() -> None:
    system = System()
    table = system.table({"a": prose(300)})
    tool = system.tool(table).tool
    system.work()
    system.replace(system.principal, table.id, {"a": prose(400)})
    broken = Comparer(system.store, system.completion, object.__new__(Breaking))
    with pytest.raises(MemoryError):
        broken.compare(tool.index_id)
    error = system.read_status(tool.id, Internal()).progress.last_error
    assert error is not None
    assert (error["code"], error["retryable"], "at" in error) == ("INTERNAL", True, True)
    assert "canary" not in str(error)
    system.work()
    assert system.read_status(tool.id, Internal()).progress.last_error is None
