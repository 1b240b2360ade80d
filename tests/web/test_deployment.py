"""What operators see of all projects: a list of them, and their rebuild."""

from __future__ import annotations

from typing import Any

from context_search.catalog.routes.projects import LISTED_PROJECTS
from context_search.indexing.rebuilds import INDEXES_PER_CALL
from tests.builders import english
from tests.web.api import SMALL, Api, answer

REBUILD = "/internal/rebuild"


def pages(api: Api, method: str, path: str, status: int = 200) -> list[dict[str, Any]]:
    """All pages of a list."""
    found, cursor = list[dict[str, Any]](), "0"
    while cursor is not None:
        joined = f"{path}{'&' if '?' in path else '?'}cursor={cursor}"
        found.append(answer(api.internally(method, joined), status))
        cursor = found[-1]["cursor"]
    return found


def listed(api: Api) -> dict[int, dict[str, Any]]:
    path = "/internal/projects"
    return {row["id"]: row for page in pages(api, "GET", path) for row in page["projects"]}


def test_projects_are_listed_with_what_they_have(api: Api) -> None:
    table = api.table({"a": english(200)})
    api.tool(table)
    empty = api.stranger()
    shown = listed(api)
    mine = {**shown[api.project_id], "name": None}
    assert mine == {
        "id": api.project_id, "name": None, "tables_count": 1, "tools_count": 1, "building": 0,
    }  # fmt: skip
    assert shown[empty.project_id]["tables_count"] == 0
    answer(api("POST", f"{api.project}/reindex"), 202)
    assert listed(api)[api.project_id]["building"] == 1
    api.internally("DELETE", f"/api/v1/projects/{empty.project_id}")
    assert empty.project_id not in listed(api)


def test_many_projects_come_in_pages(api: Api) -> None:
    with api.parts.postgres.database.transaction() as tx:
        tx.run(
            "INSERT INTO project (name) SELECT 'p' FROM generate_series(1, :most)",
            most=LISTED_PROJECTS,
        )
    sizes = [len(page["projects"]) for page in pages(api, "GET", "/internal/projects")]
    assert sizes[0] == LISTED_PROJECTS
    assert sum(sizes) == len(listed(api)) > LISTED_PROJECTS


def mine(api: Api, path: str) -> list[dict[str, Any]]:
    """The generations of the project that were ordered, or are under way."""
    found = [each for page in pages(api, "POST", path, 202) for each in page["generations"]]
    return [each for each in found if f"_project_{api.project_id}_" in each["namespace"]]


def total(api: Api, path: str, name: str) -> int:
    return sum(page[name] for page in pages(api, "POST", path, 200 if "dry" in path else 202))


def test_a_deployment_is_rebuilt_page_by_page_and_says_how_far_it_is(api: Api) -> None:
    before = total(api, f"{REBUILD}?outdated=false&dry_run=true", "nodes")
    tools = [api.tool(api.table({"a": english(200, seed)})) for seed in range(2)]
    assert mine(api, REBUILD) == []
    assert total(api, REBUILD, "up_to_date") >= 2
    assert total(api, f"{REBUILD}?outdated=false&dry_run=true", "nodes") == before + 2
    left = answer(api.internally("GET", REBUILD), 200)
    done = mine(api, f"{REBUILD}?outdated=false")
    assert [(each["generation"], each["state"]) for each in done] == [(2, "building")] * 2
    assert mine(api, f"{REBUILD}?outdated=false") == done
    assert answer(api.internally("GET", REBUILD), 200)["building"] >= left["building"] + 2
    health = answer(api("GET", f"{api.project}/health"), 200)
    assert health["indexes"]["building"] == 2
    api.parts.work()
    assert listed(api)[api.project_id]["building"] == 0
    names = {each["namespace"] for each in done}
    paths = [f"/api/v1/tools/{tool['tool_id']}/search-index" for tool in tools]
    assert {answer(api("GET", path), 200)["namespace"] for path in paths} == names


def test_a_call_looks_at_so_many_indexes_and_says_where_to_go_on(api: Api) -> None:
    table = api.table({"a": english(60)})
    for threshold in range(20, 21 + INDEXES_PER_CALL):
        api.unindexed_tool(table, {**SMALL, "chunk_threshold": threshold})
    sizes = [
        page["indexes"] for page in pages(api, "POST", f"{REBUILD}?outdated=false&dry_run=true")
    ]
    assert len(sizes) > 1
    assert max(sizes) <= INDEXES_PER_CALL < sum(sizes)
