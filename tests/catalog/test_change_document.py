"""Changes of documents: what they may come to in the end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from context_search.catalog.rules.versions import HistoryLimits
from context_search.catalog.tables import ManageTables
from context_search.core.documents import parse_json
from context_search.core.errors import DocumentTooLargeError
from tests.system import System


def test_a_document_does_not_grow_beyond_an_upload_by_many_small_changes() -> None:
    system = System()
    table = system.table({"list": []})
    change = ManageTables(system.store, max_bytes=1_000)
    for _ in range(10):
        change.replace(system.principal, table.id, "x" * 90, pointer="/list/-")
    with pytest.raises(DocumentTooLargeError, match="over 1000 bytes"):
        change.replace(system.principal, table.id, "x" * 90, pointer="/list/-")
    with pytest.raises(DocumentTooLargeError):
        change.merge(system.principal, table.id, {"more": "x" * 90})
    with system.store.for_all("test") as work:
        _, text = work.tables.read(table.id)
    assert 900 < len(text) <= 1_000
    change.remove(system.principal, table.id, pointer="/list/0")
    change.merge(system.principal, table.id, {"more": "x" * 50})


@pytest.mark.parametrize("keep_count", [None, 0])
def test_a_part_is_changed_only_in_a_document_that_fits_into_the_memory(
    keep_count: int | None,
) -> None:
    system = System()
    tables = [system.table({"text": "x" * size}) for size in (80, 100)]
    with system.store.for_all("test") as work:
        work.projects.lock_settings(HistoryLimits, system.principal.project_id)
        limits = HistoryLimits() if keep_count is None else HistoryLimits(keep_count=keep_count)
        work.projects.write_settings(system.principal.project_id, limits)
    change = ManageTables(system.store, max_changed_bytes=100)
    fits, large = (table.id for table in tables)
    acts: list[Callable[[int], object]] = [
        lambda table: change.replace(system.principal, table, "y", pointer="/text"),
        lambda table: change.merge(system.principal, table, {"more": 1}),
        lambda table: change.remove(system.principal, table, pointer="/more"),
    ]
    for act in acts:
        act(fits)
        with pytest.raises(DocumentTooLargeError, match="at most 100 bytes; this one has"):
            act(large)
    change.replace(system.principal, large, {"text": "whole"})


@pytest.mark.slow
def test_a_document_that_is_over_the_growth_of_numbers_already_may_only_not_grow() -> None:
    system, number = System(), "-0." + "0" * 400 + "1"
    table = system.table({"a": 1})
    rows = system.model_store.rows
    with system.store.for_all("test"):  # as SQL may write it
        many = ",".join([number] * 21_000)
        rows.change(rows.tables, table.id, data_json=f'{{"many": [{many}]}}')
    change = ManageTables(system.store)
    change.merge(system.principal, table.id, {"b": 10**20})
    change.replace(system.principal, table.id, parse_json(number.encode()), pointer="/many/7")
    with pytest.raises(DocumentTooLargeError):
        change.merge(system.principal, table.id, {"c": parse_json(number.encode())})
    change.remove(system.principal, table.id, pointer="/many/0")


@pytest.mark.parametrize("character", ["x", "é", "港", "😀"])
def test_the_limit_is_in_bytes(character: str) -> None:
    system = System()
    table = system.table({})
    change = ManageTables(system.store, max_bytes=100)
    fits = character * (98 // len(character.encode()))
    change.replace(system.principal, table.id, fits)
    with pytest.raises(DocumentTooLargeError, match="over 100 bytes"):
        change.replace(system.principal, table.id, fits + character)
