"""What was made is at its ``Location``; what goes on says when to ask; what is polled has a tag."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import english
from tests.web.api import Api, answer


def made_at(api: Api, path: str, body: dict[str, Any], status: int = 201) -> str:
    """The address of what a request makes."""
    response = api("POST", path, json=body, headers={"idempotency-key": path})
    answer(response, status)
    again = api("POST", path, json=body, headers={"idempotency-key": path})
    assert again.headers["location"] == response.headers["location"]
    return str(response.headers["location"])


def test_what_was_made_is_at_its_location(api: Api) -> None:
    own = {"project_id": api.project_id, "name": "new"}
    table = made_at(api, "/api/v1/tables", {**own, "data": {}})
    table_id = answer(api("GET", table), 200)["id"]
    tool = made_at(api, "/api/v1/tools/search", {**own, "table_id": table_id})
    assert answer(api("GET", tool), 200)["name"] == "new"
    mcp = made_at(api, "/api/v1/mcps", own)
    assert answer(api("GET", mcp), 200)["name"] == "new"
    upload = made_at(api, f"{table}/uploads", {"format": "json", "size": 2})
    assert answer(api("GET", upload), 200)["status"] == "pending"


def test_an_import_that_goes_on_says_where_and_when_to_ask(api: Api) -> None:
    uploads = f"/api/v1/tables/{api.table({})['id']}/uploads"
    new = answer(api("POST", uploads, json={"format": "json", "size": 2}), 201)
    api.parts.objects.contents[new["url"]] = b"{}"
    place = f"{uploads}/{new['upload_id']}"
    response = api("POST", f"{place}/complete")
    answer(response, 202)
    assert (response.headers["location"], response.headers["retry-after"]) == (place, "1")


PATHS = [
    "/api/v1/tables",
    "/api/v1/tools?limit=2",
    "/api/v1/tools/{tool}/search-index",
    "/api/v1/projects/{project}/search-index",
]


@pytest.fixture
def made(api: Api) -> dict[str, Any]:
    """Ids of a project with an index of its own and a tool."""
    answer(api("POST", f"/api/v1/projects/{api.project_id}/search-index", json={}), 202)
    tool = api.tool(api.table({"a": english(200)}))
    return {"tool": tool["tool_id"], "project": api.project_id}


@pytest.mark.parametrize("path", PATHS)
def test_what_is_known_is_not_sent_again_until_it_changes(
    api: Api, made: dict[str, Any], path: str
) -> None:
    path = path.format(**made)
    first = api("GET", path)
    tag = first.headers["etag"]
    assert tag.startswith('W/"')
    assert api("GET", path, headers={"if-none-match": tag}).status_code == 304
    for unknown in ('"other"', tag[:-2], "", tag.replace('"', "")):
        other = api("GET", path, headers={"if-none-match": unknown})
        assert (other.status_code, other.json(), other.headers["etag"]) == (200, first.json(), tag)
    api.unindexed_tool(api.table({"b": english(300)}))
    if path.endswith(f"tools/{made['tool']}/search-index"):
        answer(api("POST", f"{path}/clear"), 200)
    changed = api("GET", path, headers={"if-none-match": tag})
    assert (changed.status_code, changed.headers["etag"] != tag) == (200, True)
    assert changed.json() != first.json()


def test_a_tag_opens_nothing(api: Api, made: dict[str, Any]) -> None:
    path = PATHS[2].format(**made)
    known = {"if-none-match": api("GET", path).headers["etag"]}
    assert api.stranger()("GET", path, headers=known).status_code == 404
    assert api("GET", path, key="cs_none", headers={"if-none-match": "*"}).status_code == 401
