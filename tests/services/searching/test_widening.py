"""Documents that are not live any more do not take the places of those that are."""

from __future__ import annotations

import pytest

from tests.services.house import House, prose

ONCE = "The harbour is named once in this report about a quiet winter. "
DEAD = "Harbour harbour, harbour. " * 1_500
"""Over 300 chunks, all of them better than ``ONCE``."""


def crowded(kept: str, **search: str) -> tuple[House, int]:
    """A tool whose index has lost a long string that turbopuffer still holds."""
    house = House()
    table = house.table({"dead": DEAD, "kept": kept})
    tool_id = house.tool(table, "", **search).tool.id
    house.work()
    house.replace(house.principal, table.id, {"kept": kept})
    return house, tool_id


@pytest.mark.parametrize("fusion", ["convex", "rrf", "linear"])
@pytest.mark.parametrize("strategy", ["hybrid", "keyword", "semantic"])
def test_what_is_live_is_found_behind_more_dead_documents_than_a_leg_has_places(
    strategy: str, fusion: str
) -> None:
    house, tool_id = crowded(ONCE, strategy=strategy, fusion=fusion)
    answer = house.search(tool_id, house.principal, "harbour", 5)
    assert [hit.json_path for hit in answer.hits] == ["/kept"]
    assert answer.gone > 300


def test_a_leg_gives_no_more_live_candidates_than_it_was_asked_for() -> None:
    house, tool_id = crowded(ONCE + prose(12_000), strategy="semantic")
    answer = house.search.ranked(tool_id, house.principal, "harbour")
    assert answer.gone > 300
    assert answer.ranked == 50
    assert all(hit.chunk.chunk_text for hit in answer.hits)
