"""The tables of a project: by id, by name, each with how far its indexes are."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import english
from tests.web.api import SMALL, Api, answer, problem

TABLES = "/api/v1/tables"


def listed(api: Api, query: str = "") -> dict[str, Any]:
    return answer(api("GET", f"{TABLES}{query}"), 200)


def test_a_table_is_listed_with_the_sums_of_its_indexes(api: Api) -> None:
    table = api.table({"a": english(400), "b": english(300)}, description="Two texts.")
    made = [api.tool(table), api.tool(table, {**SMALL, "chunk_size": 150}), api.tool(table)]
    [row] = listed(api)["tables"]
    assert row.pop("stored_bytes") > 0
    counted = {
        tool["namespace"]: answer(api("GET", f"/api/v1/tools/{tool['tool_id']}/search-index"), 200)
        for tool in made
    }
    assert len(counted) == 2
    assert row == {
        "id": table["id"],
        "name": "table",
        "description": "Two texts.",
        "revision": 1,
        "updated_at": table["updated_at"],
        "tools_count": 3,
        "status": "ready",
        "nodes_count": 4,
        "chunks_count": sum(index["chunks_count"] for index in counted.values()),
        "indexed_chunks_count": sum(index["chunks_count"] for index in counted.values()),
    }


def test_the_worst_status_is_shown(api: Api) -> None:
    table = api.table({"a": english(400)})
    api.tool(table)
    api.unindexed_tool(table, {**SMALL, "chunk_size": 150})
    assert listed(api)["tables"][0]["status"] == "indexing"
    api.parts.work()
    api("PUT", f"{TABLES}/{table['id']}/data?pointer=/a", json=english(500))
    assert listed(api)["tables"][0]["status"] == "indexing"
    api.parts.work()
    with api.parts.postgres.database.transaction() as tx:
        tx.run(
            "UPDATE node SET state = 'quarantined' WHERE id = "
            "(SELECT min(id) FROM node WHERE table_id = :table)",
            table=table["id"],
        )
    assert listed(api)["tables"][0]["status"] == "degraded"


def test_without_a_tool_there_is_no_status(api: Api) -> None:
    table = api.table({"a": english(400)})
    made = api.tool(table)
    answer(api("POST", f"/api/v1/projects/{api.project_id}/search-index"), 202)
    api.parts.work()
    api("DELETE", f"/api/v1/tools/{made['tool_id']}")
    [row] = listed(api)["tables"]
    assert (row["tools_count"], row["status"], row["chunks_count"]) == (0, None, 0)


def test_a_list_goes_on_where_its_page_ended_without_what_was_deleted(api: Api) -> None:
    made = [api.table(number)["id"] for number in range(23)]
    first = listed(api)
    then = listed(api, f"?cursor={first['cursor']}")
    assert (len(first["tables"]), then["cursor"]) == (20, None)
    assert [row["id"] for row in first["tables"] + then["tables"]] == made
    assert api("DELETE", f"{TABLES}/{made[1]}").status_code == 204
    assert [row["id"] for row in listed(api, "?limit=2")["tables"]] == [made[0], made[2]]
    exact = listed(api, f"?limit=2&cursor={made[-3]}")
    assert ([row["id"] for row in exact["tables"]], exact["cursor"]) == (made[-2:], None)
    assert listed(api.stranger())["tables"] == []


def test_a_name_is_found_by_a_part_of_it(api: Api) -> None:
    names = ["Harbour law", "第三章 林小雨", "100% _harbour_", "other"]
    made = {name: api.table(0, name=name)["id"] for name in names}

    def found(part: str) -> list[int]:
        page = answer(api("GET", TABLES, params={"q": part}), 200)
        assert page["cursor"] is None
        return [row["id"] for row in page["tables"]]

    assert found("HARBOUR") == [made["Harbour law"], made["100% _harbour_"]]
    assert found("林小") == [made["第三章 林小雨"]]
    assert found("%") == [made["100% _harbour_"]]
    assert found("r_l") == []


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=51", "cursor=x", "cursor=-1", "q=", f"q={'x' * 201}", "limit="]
)
def test_a_broken_query_is_refused(reader: Api, query: str) -> None:
    problem(reader("GET", f"{TABLES}?{query}"), 422, "INVALID_INPUT")
