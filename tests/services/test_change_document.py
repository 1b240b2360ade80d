"""Changes of documents: what they may come to in the end."""

from __future__ import annotations

import pytest

from context_search.domain.errors import DocumentTooLargeError
from context_search.services.change_document import ChangeDocument
from tests.services.house import House


def test_a_document_does_not_grow_beyond_an_upload_by_many_small_changes() -> None:
    house = House()
    table = house.table({"list": []})
    change = ChangeDocument(house.store, house.deliver, max_bytes=1_000)
    for _ in range(10):
        change.replace(house.principal, table.id, "x" * 90, pointer="/list/-")
    with pytest.raises(DocumentTooLargeError, match="over 1000 bytes"):
        change.replace(house.principal, table.id, "x" * 90, pointer="/list/-")
    with pytest.raises(DocumentTooLargeError):
        change.merge(house.principal, table.id, {"more": "x" * 90})
    with house.store.transaction() as work:
        _, text = work.tables.read(table.id)
    assert 900 < len(text) <= 1_000
    change.remove(house.principal, table.id, pointer="/list/0")
    change.merge(house.principal, table.id, {"more": "x" * 50})


@pytest.mark.parametrize("character", ["x", "é", "港", "😀"])
def test_the_limit_is_in_bytes(character: str) -> None:
    house = House()
    table = house.table({})
    change = ChangeDocument(house.store, house.deliver, max_bytes=100)
    fits = character * (98 // len(character.encode()))
    change.replace(house.principal, table.id, fits)
    with pytest.raises(DocumentTooLargeError, match="over 100 bytes"):
        change.replace(house.principal, table.id, fits + character)
