"""What a project may hold: the request that asks for one too many is refused."""

from __future__ import annotations

from random import Random
from string import ascii_letters
from typing import Any

import pytest

from context_search.core.json_text import to_json
from context_search.indexing.node_report import RetryLater
from context_search.postgres.pool import Database
from tests.builders import english
from tests.web.api import SMALL, Api, LocalParts, answer, problem
from tests.web.test_uploads import begin, complete, put, state, uploads

TABLES, TOOLS, KEYS, MCPS = 2, 1, 3, 2
BYTES = 200_000


@pytest.fixture(scope="module")
def parts(module_database: Database, turbopuffer_url: str) -> LocalParts:
    made = LocalParts(module_database, turbopuffer_url)
    narrow = {
        "project_max_tables": TABLES,
        "project_max_document_bytes": BYTES,
        "project_max_tools": TOOLS,
        "project_max_keys": KEYS,
        "project_max_mcps": MCPS,
        "project_daily_tokens": 1,
    }
    made.settings = made.settings.model_copy(update=narrow)
    return made


def is_full(response: Any, limit: str, held: int, most: int) -> None:
    refused = problem(response, 409, "PROJECT_FULL")
    assert (refused["limit"], refused["held"], refused["most"]) == (limit, held, most)
    assert refused["retryable"] is False


def test_a_project_has_so_many_tables_and_a_deleted_one_makes_room(api: Api) -> None:
    first = api.table({})
    api.table({})
    body = {"project_id": api.project_id, "name": "one too many", "data": {}}
    is_full(api("POST", "/api/v1/tables", json=body), "tables", TABLES, TABLES)
    assert api("DELETE", f"/api/v1/tables/{first['id']}").status_code == 204
    answer(api("POST", "/api/v1/tables", json=body), 201)


def test_a_project_has_so_many_tools(api: Api) -> None:
    table = api.table({"a": english(300)})
    api.tool(table)
    body = {
        "project_id": api.project_id,
        "table_id": table["id"],
        "name": "one_too_many",
        "search_config": SMALL,
    }
    is_full(api("POST", "/api/v1/tools/search", json=body), "tools", TOOLS, TOOLS)


def test_a_project_has_so_many_keys_those_of_agents_and_consoles_among_them(api: Api) -> None:
    keys = f"{api.project}/keys"
    mcp = api.mcp()  # with its first key
    made = answer(api("POST", keys, json={}), 201)
    is_full(api("POST", keys, json={}), "keys", KEYS, KEYS)
    is_full(api("POST", f"/api/v1/mcps/{mcp['id']}/keys", json={}), "keys", KEYS, KEYS)
    rotate = f"{keys}/{made['id']}/rotate"
    is_full(api("POST", rotate, json={}), "keys", KEYS, KEYS)
    made = answer(api("POST", rotate, json={"old_expires_in": 0}), 201)
    operators = api.internally("POST", keys, json={})  # the way back in where no key is left
    assert api("DELETE", f"{keys}/{answer(operators, 201)['id']}").status_code == 204
    code = answer(api("POST", "/api/v1/console/codes"), 201)["code"]
    signed_in = "/api/v1/console/sign-in"
    is_full(api("POST", signed_in, json={"code": code}), "keys", KEYS, KEYS)
    assert api("DELETE", f"{keys}/{made['id']}").status_code == 204
    answer(api("POST", signed_in, json={"code": code}), 201)


def test_a_project_has_so_many_mcp_instances_with_keys_or_without(api: Api) -> None:
    for _ in range(MCPS):
        mcp = api.mcp()
        [key] = answer(api("GET", f"/api/v1/mcps/{mcp['id']}/keys"), 200)["keys"]
        assert api("DELETE", f"/api/v1/mcps/{mcp['id']}/keys/{key['id']}").status_code == 204
    body = {"project_id": api.project_id, "name": "one too many"}
    is_full(api("POST", "/api/v1/mcps", json=body), "mcps", MCPS, MCPS)
    assert api("DELETE", f"/api/v1/mcps/{mcp['id']}").status_code == 204
    answer(api("POST", "/api/v1/mcps", json=body), 201)


def random_text(length: int, seed: int) -> str:
    """Text that Postgres cannot compress."""
    choose = Random(seed)
    return "".join(choose.choice(ascii_letters) for _ in range(length))


def fill(api: Api, length: int) -> None:
    """Another program fills the project."""
    with api.parts.store.for_all("test") as work:
        work.tables.add(api.project_id, "other", None, to_json(random_text(length, 9)))


def test_documents_take_so_many_bytes_and_a_shorter_one_is_always_taken(api: Api) -> None:
    table = api.table(random_text(130_000, 1))
    data = f"/api/v1/tables/{table['id']}/data"
    body = {"project_id": api.project_id, "name": "t", "data": random_text(120_000, 2)}
    refused = problem(api("POST", "/api/v1/tables", json=body), 409, "PROJECT_FULL")
    assert (refused["limit"], refused["most"]) == ("document_bytes", BYTES)
    assert BYTES < refused["held"] < BYTES + 70_000
    problem(api("PUT", data, json=random_text(260_000, 3)), 409, "PROJECT_FULL")
    answer(api("PUT", data, json={"a": random_text(190_000, 4)}), 200)
    problem(api("PATCH", data, json={"b": random_text(20_000, 5)}), 409, "PROJECT_FULL")
    fill(api, 90_000)
    answer(api("PUT", data, json={"a": random_text(150_000, 7)}), 200)


def test_replacements_and_restored_versions_keep_to_the_bytes_and_undos_need_not(api: Api) -> None:
    table = api.table(["A mark.", random_text(120_000, 1)])
    replace = f"{api.project}/replace"

    def executed(find: str, replace_with: str) -> Any:
        request = {"find": find, "replace_with": replace_with}
        plan = answer(api("POST", f"{replace}/preview", json=request), 200)
        asked = {"plan_id": plan["plan_id"], "digest": plan["digest"]}
        return api("POST", f"{replace}/execute", json=asked)

    done = answer(executed("mark", "m"), 200)
    fill(api, 140_000)
    before = answer(api("GET", f"/api/v1/tables/{table['id']}/data"), 200)
    for refused in (
        executed("A m", "A long mark"),
        api("POST", f"/api/v1/tables/{table['id']}/versions/1/restore"),
    ):
        assert problem(refused, 409, "PROJECT_FULL")["limit"] == "document_bytes"
    assert answer(api("GET", f"/api/v1/tables/{table['id']}/data"), 200) == before
    answer(api("POST", f"{replace}/{done['plan_id']}/undo"), 200)
    answer(executed("A m", "m"), 200)  # a shorter one is always taken


def test_an_upload_counts_from_its_completion_on(api: Api) -> None:
    table = api.table(random_text(50_000, 1))
    too_long, fits = (to_json(random_text(each, 2)).encode() for each in (160_000, 120_000))
    large, small = begin(api, table, too_long), begin(api, table, fits)
    put(api, large, too_long)
    path = f"{uploads(table)}/{large['upload_id']}/complete"
    is_full(api("POST", path), "document_bytes", stored(api), BYTES)
    put(api, small, fits)
    before = stored(api)
    complete(api, table, small)
    assert stored(api) == before + 120_002
    fill(api, 150_000)
    with api.parts.store.for_all("test") as work:
        replaced = work.tables.replace(table["id"], "1", expected_revision=None)
        assert replaced is not None
    api.parts.work()
    assert state(api, table, small)["last_error"]["code"] == "PROJECT_FULL"


def stored(api: Api) -> int:
    with api.parts.store.for_project(api.project_id) as work:
        return work.quotas.held(api.project_id, "document_bytes")


def test_a_project_that_has_spent_its_day_waits_and_says_why(api: Api) -> None:
    table = api.table({"a": english(300, 1)})
    tool = api.tool(table)  # what passes the limit is the last of the day
    answer(api("PUT", f"/api/v1/tables/{table['id']}/data", json={"a": english(300, 2)}), 200)
    with pytest.raises(RetryLater):
        api.parts.work()
    state = answer(api("GET", f"/api/v1/tools/{tool['tool_id']}/search-index"), 200)
    assert state["last_error"]["code"] == "EMBEDDING_LIMIT_REACHED"
    reported = answer(api("GET", f"{api.project}/health"), 200)
    assert [error["code"] for error in reported["errors"]] == ["EMBEDDING_LIMIT_REACHED"]
    assert reported["daily_limits"] == {"embedding_tokens": 1, "reranks": None}
    assert reported["spent"][0]["embedding_tokens"] > 1
    assert api.search(tool, "harbour winter")["results"]  # what is indexed goes on answering


def test_what_would_be_indexed_is_refused_until_the_day_ends(api: Api) -> None:
    table = api.table({"a": english(300, 1)})
    tool = api.tool(table)  # spends the day
    project, path = api.project, f"/api/v1/tools/{tool['tool_id']}"
    other = {
        "project_id": api.project_id,
        "table_id": table["id"],
        "name": "search_other",
        "search_config": {**SMALL, "chunk_size": 120},
    }
    is_spent(api("POST", f"{path}/search-index/rebuild"))
    is_spent(api("POST", f"{project}/reindex"))
    is_spent(api("POST", f"{project}/search-index"))
    assert answer(api("GET", f"{path}/search-index"), 200).get("rebuild") is None
    assert api("DELETE", path).status_code == 204
    is_spent(api("POST", "/api/v1/tools/search", json=other))
    assert answer(api("GET", "/api/v1/tools"), 200)["tools"] == []
    neighbour = api.stranger()
    neighbour.tool(neighbour.table({"a": english(300, 1)}))


def is_spent(response: Any) -> None:
    refused = problem(response, 429, "SPENDING_CEILING")
    assert refused["retryable"] is True
    assert 0 < refused["retryAfterMs"] <= 86_400_000
    assert int(response.headers["retry-after"]) <= 86_400
