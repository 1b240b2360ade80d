"""Rows that somebody deletes by SQL: noticed, said while it lasts, and as before after cleanup."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import english
from tests.functions.deployment import Deployment

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words", "log")]


def places(found: dict[str, Any]) -> list[tuple[str, int, str]]:
    chunks = [hit["chunk"] for hit in found["results"]]
    return sorted((each["json_pointer"], each["char_start"], each["chunk_text"]) for each in chunks)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM node WHERE json_pointer = '/b' AND table_id = :table RETURNING 1",
        "DELETE FROM chunks WHERE json_pointer = '/b' AND chunk_index = 1 AND table_id = :table"
        " RETURNING 1",
    ],
    ids=["node", "chunk"],
)
def test_a_gap_that_somebody_makes_is_closed_by_cleanup(
    deployed: Deployment, statement: str
) -> None:
    tool = deployed.tool({"a": english(500), "b": english(400, 2)})
    deployed.drain()
    before, documents = deployed.search(tool, top_k=20), deployed.documents(tool["namespace"])
    assert before["index"] == {"status": "ready", "not_searched": 0}
    assert {place[0] for place in places(before)} == {"/a", "/b"}

    assert deployed.sql(statement, table=tool["table_id"])
    broken = deployed.search(tool, top_k=20)
    assert len(broken["results"]) < len(before["results"])
    assert broken["retrieval"]["degraded"] == ["partial_index"]

    for table in ("context_table SET updated_at", "comparison SET ordered_at"):
        deployed.sql(f"UPDATE {table} = now() - interval '1 h' RETURNING 1")
    deployed.sql("UPDATE index_generation SET created_at = now() - interval '1 h' RETURNING 1")
    assert deployed.clean_up()["comparisons_ordered"] == 1
    deployed.drain()
    after = deployed.search(tool, top_k=20)
    assert (after["index"], after["retrieval"]["degraded"]) == (
        {"status": "ready", "not_searched": 0},
        [],
    )
    assert places(after) == places(before)
    assert len(deployed.documents(tool["namespace"])) >= len(documents)
