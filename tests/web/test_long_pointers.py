"""A pointer that is too long for an address travels in a body, with the same meaning."""

from __future__ import annotations

import json
from typing import Any

import pytest

from local.gateway import MAX_HEAD_BYTES
from tests.web.api import Api, answer, problem

KEY = "章" * 5_200
POINTER = f"/{KEY}/0"


@pytest.fixture
def table(api: Api) -> dict[str, Any]:
    return api.table({KEY: ["nine", {"kept": 1}], "other": 1})


def at(api: Api, table: dict[str, Any], how: str, body: object, **headers: str) -> Any:
    return api("POST", f"/api/v1/tables/{table['id']}/data/{how}", json=body, headers=headers)


def test_the_pointer_fits_into_no_address(api: Api) -> None:
    assert len(str(api.http.build_request("GET", "/", params={"pointer": POINTER}).url)) > (
        MAX_HEAD_BYTES
    )


def test_a_value_is_read_replaced_appended_merged_and_taken_out(
    api: Api, table: dict[str, Any]
) -> None:
    read = at(api, table, "read", {"json_pointer": POINTER})
    assert (read.status_code, read.text, read.headers["etag"]) == (200, '"nine"', '"1"')
    whole = api("GET", f"/api/v1/tables/{table['id']}/data")
    assert at(api, table, "read", {}).content == whole.content
    body = {"json_pointer": POINTER, "value": None}
    assert answer(at(api, table, "replace", body), 200)["revision"] == 2
    answer(at(api, table, "replace", {"json_pointer": f"/{KEY}/-", "value": 7}), 200)
    patch = {"json_pointer": f"/{KEY}/1", "patch": {"kept": None, "new": 2}}
    answer(at(api, table, "merge", patch), 200)
    read = at(api, table, "read", {"json_pointer": f"/{KEY}"})
    assert json.loads(read.text) == [None, {"new": 2}, 7]
    answer(at(api, table, "remove", {"json_pointer": POINTER}), 200)
    assert answer(at(api, table, "read", {"json_pointer": POINTER}), 200) == {"new": 2}


@pytest.mark.parametrize(
    ("how", "body", "status", "code"),
    [
        ("read", {"json_pointer": "no slash"}, 422, "INVALID_POINTER"),
        ("read", {"json_pointer": "/nowhere"}, 404, "NOT_FOUND"),
        ("read", {"pointer": ""}, 422, "INVALID_INPUT"),
        ("remove", {"json_pointer": ""}, 422, "INVALID_INPUT"),
        ("remove", {}, 422, "INVALID_INPUT"),
        ("replace", {"json_pointer": ""}, 422, "INVALID_INPUT"),
        ("merge", {"json_pointer": ""}, 422, "INVALID_INPUT"),
        ("read", {"json_pointer": "/" + "x" * 100_000}, 422, "INVALID_INPUT"),
    ],
)
def test_a_broken_request_is_refused(
    api: Api, table: dict[str, Any], how: str, body: object, status: int, code: str
) -> None:
    problem(at(api, table, how, body), status, code)
