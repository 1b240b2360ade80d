"""What was made is at its ``Location``; what goes on says when to ask again."""

from __future__ import annotations

from typing import Any

from tests.web.api import Api, answer


def made(api: Api, path: str, body: dict[str, Any], status: int = 201) -> str:
    """The address of what a request makes."""
    response = api("POST", path, json=body, headers={"idempotency-key": path})
    answer(response, status)
    again = api("POST", path, json=body, headers={"idempotency-key": path})
    assert again.headers["location"] == response.headers["location"]
    return str(response.headers["location"])


def test_what_was_made_is_at_its_location(api: Api) -> None:
    own = {"project_id": api.project_id, "name": "new"}
    table = made(api, "/api/v1/tables", {**own, "data": {}})
    table_id = answer(api("GET", table), 200)["id"]
    tool = made(api, "/api/v1/tools/search", {**own, "table_id": table_id})
    assert answer(api("GET", tool), 200)["name"] == "new"
    mcp = made(api, "/api/v1/mcps", own)
    assert answer(api("GET", mcp), 200)["name"] == "new"
    upload = made(api, f"{table}/uploads", {"format": "json", "size": 2})
    assert answer(api("GET", upload), 200)["status"] == "pending"


def test_an_import_that_goes_on_says_where_and_when_to_ask(api: Api) -> None:
    uploads = f"/api/v1/tables/{api.table({})['id']}/uploads"
    new = answer(api("POST", uploads, json={"format": "json", "size": 2}), 201)
    api.parts.objects.contents[new["url"]] = b"{}"
    place = f"{uploads}/{new['upload_id']}"
    response = api("POST", f"{place}/complete")
    answer(response, 202)
    assert (response.headers["location"], response.headers["retry-after"]) == (place, "1")
