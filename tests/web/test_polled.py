"""What is polled is sent once: a weak ``ETag`` of its content, and 304."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import english
from tests.web.api import Api, answer

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
