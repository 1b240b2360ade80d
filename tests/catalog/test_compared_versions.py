"""Versions are compared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace

import pytest

from context_search.catalog.versions import DIFFERENCES_A_PAGE, CompareVersions, RecordVersions
from context_search.core.errors import DocumentTooLargeError
from context_search.store import UnitOfWork
from tests.catalog.history import Editing
from tests.stores import StoreInFront


def test_versions_are_compared_page_by_page() -> None:
    system = Editing()
    many = {f"k{number}": number for number in range(DIFFERENCES_A_PAGE + 5)}
    table = system.put(system.make({}), many)
    first = system.compare(system.principal, table.id, 1, None, after=0)
    assert (first.older, first.newer, len(first.differences)) == (1, 2, DIFFERENCES_A_PAGE)
    rest = system.compare(system.principal, table.id, 1, 2, after=first.next_after or 0)
    found = [each.json_pointer for each in [*first.differences, *rest.differences]]
    assert found == [f"/k{number}" for number in range(DIFFERENCES_A_PAGE + 5)]
    assert rest.next_after is None
    assert system.compare(system.principal, table.id, 2, 2, after=0).differences == []


@dataclass
class WatchedStore(StoreInFront):
    """A store that knows how its transactions ended."""

    errors: list[type[BaseException] | None] = field(default_factory=list)

    @contextmanager
    def around(self, opened: AbstractContextManager[UnitOfWork]) -> Iterator[UnitOfWork]:
        try:
            with opened as work:
                yield work
        except BaseException as error:
            self.errors.append(type(error))
            raise
        self.errors.append(None)


def test_versions_are_parsed_when_the_transaction_has_ended() -> None:
    """What is too deep for that is noticed then."""
    system = Editing()
    table = system.make([])
    deep = "[" * 200_000 + "]" * 200_000
    with system.store.for_all("test") as work:
        before = work.versions.overwritten(
            table.id, project_id=table.project_id, max_bytes=len(deep)
        )
        changed = work.tables.replace(table.id, "[1]", expected_revision=None)
        assert changed is not None
        RecordVersions().record(work, changed, replace(before, text=deep))
    watched = WatchedStore(system.store)
    with pytest.raises(DocumentTooLargeError):
        CompareVersions(watched).compare(system.principal, table.id, 1, None, after=0)
    assert set(watched.errors) == {None}
