"""What a body is said to be: JSON, or 415."""

from __future__ import annotations

import pytest

from context_search.web.openapi import contract
from tests.web.access.matrix import filled
from tests.web.access.things import MISSING
from tests.web.api import SECRET, Api, problem

WITH_BODY = [
    (method.upper(), path)
    for path, methods in contract()["paths"].items()
    for method, operation in methods.items()
    if "requestBody" in operation
]
NOT_JSON = [
    None,
    "",
    "text/plain",
    "text/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/x-ndjson",
    "application/jsonp",
    "json",
    "application/octet-stream, application/json",
]


@pytest.mark.parametrize(("method", "path"), WITH_BODY)
def test_a_body_that_is_not_json_is_415_on_every_route(api: Api, method: str, path: str) -> None:
    where = filled(path, MISSING)
    for name in NOT_JSON:
        headers = {"authorization": f"Bearer {api.key}", "x-internal-secret": SECRET}
        headers |= {} if name is None else {"content-type": name}
        response = api.http.request(method, where, content=b"{}", headers=headers)
        problem(response, 415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize(
    "name",
    ["application/json", "Application/JSON; charset=utf-8", "application/merge-patch+json"],
)
def test_json_has_several_names(api: Api, name: str) -> None:
    path = f"/api/v1/tables/{api.table({'a': 1})['id']}/data"
    response = api("PATCH", path, content=b'{"a": 2}', headers={"content-type": name})
    assert response.status_code == 200
    assert api("GET", path).json() == {"a": 2}


def test_without_a_body_nothing_has_to_be_said(api: Api) -> None:
    key_id = api.new_key()["id"]
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert api("POST", f"{api.project}/keys/{key_id}/rotate", headers=form).status_code == 201
