"""Who did what: one line each, with ids only."""

from __future__ import annotations

import pytest

from tests.web.api import SECRET, Api, answer


def test_keys_and_deletions_leave_a_line(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    keys = f"/api/v1/projects/{api.project_id}/keys"
    table_id = api.table(1)["id"]
    caplog.clear()
    key_id = answer(api("POST", keys, json={}), 201)["id"]
    answer(api("POST", f"{keys}/{key_id}/rotate"), 201)
    assert api("DELETE", f"{keys}/{key_id}").status_code == 204
    assert api("DELETE", f"/api/v1/tables/{table_id}").status_code == 204
    secret = {"x-internal-secret": SECRET}
    gone = api("DELETE", f"/api/v1/projects/{api.project_id}", key=None, headers=secret)
    assert gone.status_code == 204
    lines = [vars(one) for one in caplog.records if one.getMessage() == "audited"]
    assert [(line["action"], line["target_id"]) for line in lines] == [
        ("key made", key_id),
        ("key rotated", key_id),
        ("key revoked", key_id),
        ("table deleted", table_id),
        ("project deleted", api.project_id),
    ]
    assert {line["project_id"] for line in lines} == {api.project_id}
    assert all(line["actor"].startswith("key:") for line in lines[:4])
    assert lines[4]["actor"] == "internal"
