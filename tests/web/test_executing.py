"""Search and replace over HTTP: plans are executed, undone and done again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.editing.replacing import STORY
from tests.web.api import CANARY, Api, answer, problem
from tests.web.test_replacing import path, preview

FROM, TO = "废弃仓库", "荒废工厂"


def data(api: Api, table: dict[str, Any]) -> str:
    return api("GET", f"/api/v1/tables/{table['id']}/data").text


def put(api: Api, table: dict[str, Any], document: object) -> None:
    answer(api("PUT", f"/api/v1/tables/{table['id']}/data", json=document), 200)


def execute(api: Api, plan: dict[str, Any], status: int = 200, **more: Any) -> dict[str, Any]:
    body = {"plan_id": plan["plan_id"], "digest": plan["digest"], **more}
    return answer(api("POST", path(api, "/execute"), json=body), status)


def undo(api: Api, plan: dict[str, Any], status: int = 200, **more: Any) -> dict[str, Any]:
    if "on_conflict" in more:  # an undo needs no body
        more["json"] = {"on_conflict": more.pop("on_conflict")}
    return answer(api("POST", path(api, f"/{plan['plan_id']}/undo"), **more), status)


def test_seven_places_are_done_and_every_byte_comes_back(api: Api) -> None:
    tables = [api.table(document) for document in STORY]
    before = [data(api, table) for table in tables]
    plan = preview(api, FROM, TO)
    done = execute(api, plan)
    assert (done["state"], done["replayed"], done["error"]) == ("done", False, None)
    assert (done["replaced_count"], done["tables_count"], done["skipped"]) == (7, 3, [])
    assert done["tables"][0] == {
        "table_id": tables[0]["id"],
        "state": "done",
        "reason": None,
        "replaced_count": 2,
        "revision_before": 1,
        "revision_after": 2,
    }
    assert [data(api, table) for table in tables] == [text.replace(FROM, TO) for text in before]
    assert execute(api, plan) == {**done, "replayed": True}
    counted = undo(api, plan, params={"dry_run": "true"})
    assert (counted["plan_id"], counted["dry_run"], counted["state"]) == (None, True, "done")
    undone = undo(api, plan)
    assert (undone["undoes"], undone["reverted_count"], undone["kept_count"]) == (
        plan["plan_id"],
        7,
        0,
    )
    assert counted["reverted_count"] == 7
    assert [data(api, table) for table in tables] == before
    redone = undo(api, undone)
    assert [data(api, table) for table in tables] == [text.replace(FROM, TO) for text in before]
    shown = answer(api("GET", path(api, f"/{redone['plan_id']}")), 200)
    assert (shown["state"], shown["undoes"]) == ("done", undone["plan_id"])
    listed = answer(api("GET", path(api)), 200)["plans"]
    assert [(each["undoes"], each["replaced_count"]) for each in listed] == [
        (undone["plan_id"], 7),
        (plan["plan_id"], 7),
        (None, 7),
    ]
    assert shown["replaced_count"] == 7
    assert [each["request"] for each in listed] == [None, None, plan["request"]]
    versions = api("GET", f"/api/v1/tables/{tables[0]['id']}/versions").json()["versions"]
    assert [(each["cause"], each["plan_id"]) for each in versions] == [
        ("undo", redone["plan_id"]),
        ("undo", undone["plan_id"]),
        ("replace", plan["plan_id"]),
        ("create", None),
    ]


def test_what_was_unticked_stays_and_preview_id_is_plan_id(api: Api) -> None:
    tables = [api.table(document) for document in STORY]
    plan = preview(api, FROM, TO)
    body = {"preview_id": plan["plan_id"], "digest": plan["digest"], "except": [1]}
    done = answer(
        api(
            "POST",
            path(api, "/execute"),
            json={**body, "except_tables": [tables[2]["id"]]},
        ),
        200,
    )
    assert (done["replaced_count"], done["tables_count"]) == (3, 2)
    assert data(api, tables[0]).count(FROM) == 1
    assert data(api, tables[2]).count(FROM) == 3


def test_a_save_between_preview_and_execute_is_refused_by_name(api: Api) -> None:
    tables = [api.table(document) for document in STORY]
    plan = preview(api, FROM, TO)
    put(api, tables[1], {"title": "别处"})
    body = {"plan_id": plan["plan_id"], "digest": plan["digest"]}
    refused = problem(api("POST", path(api, "/execute"), json=body), 409, "REPLACE_STALE")
    assert refused["retryable"] is False
    assert refused["changed_count"] == 2
    assert {(each["table_id"], each["revision"]) for each in refused["changed"]} == {
        (tables[1]["id"], 2)
    }
    assert {each["json_pointer"]: each["reason"] for each in refused["changed"]} == {
        "/title": "CHANGED",
        "/scenes/1/text": "GONE",
    }
    assert data(api, tables[0]).count(FROM) == 2
    done = execute(api, plan, on_conflict="skip")
    assert done["state"] == "partial"
    assert [each["reason"] for each in done["skipped"]] == [refused["changed"][0]["reason"]]
    assert done["replaced_count"] == 5


def test_an_edit_of_somebody_is_kept_by_an_undo(api: Api) -> None:
    table = api.table({"a": "x", "b": "x"})
    plan = preview(api, "x", "y")
    execute(api, plan)
    put(api, table, {"a": "mine", "b": "y"})
    refused = api("POST", path(api, f"/{plan['plan_id']}/undo"), json={})
    assert problem(refused, 409, "REPLACE_STALE")["changed"][0]["reason"] == "EDITED_SINCE"
    undone = undo(api, plan, on_conflict="skip")
    assert (undone["state"], undone["reverted_count"], undone["kept_count"]) == ("partial", 1, 1)
    assert undone["kept"] == [
        {"table_id": table["id"], "json_pointer": "/a", "char_start": 0, "reason": "EDITED_SINCE"}
    ]
    assert data(api, table) == '{"a": "mine", "b": "x"}'
    again = api("POST", path(api, f"/{plan['plan_id']}/undo"), json={})
    assert problem(again, 409, "UNDO_EXPIRED")["undone_by"] == undone["plan_id"]


def test_an_undo_with_a_key_is_done_once_and_a_dry_run_is_no_answer_to_it(api: Api) -> None:
    table = api.table("x")
    plan = preview(api, "x", "y")
    execute(api, plan)
    key = {"Idempotency-Key": "undo-1"}
    assert undo(api, plan, params={"dry_run": "true"}, headers=key)["plan_id"] is None
    first = undo(api, plan, headers=key)
    assert undo(api, plan, headers=key) == first
    assert data(api, table) == '"x"'


def as_large(api: Api, plan: dict[str, Any]) -> None:
    """Makes a plan, and its undo, too large for a request."""
    with api.parts.postgres.database.transaction() as tx:
        tx.run(
            """
            UPDATE replace_plan SET counts = counts || '{"planned_bytes": 1000000000}'
            WHERE id = :plan
            """,
            plan=plan["plan_id"],
        )
        tx.run(
            "UPDATE replace_table SET bytes = 1000000000 WHERE plan_id = :plan",
            plan=plan["plan_id"],
        )


def test_a_large_plan_is_executed_and_undone_by_a_worker(api: Api) -> None:
    tables = [api.table(document) for document in STORY]
    before = [data(api, table) for table in tables]
    plan = preview(api, FROM, TO)
    as_large(api, plan)
    body = {"plan_id": plan["plan_id"], "digest": plan["digest"]}
    accepted = api("POST", path(api, "/execute"), json=body)
    assert answer(accepted, 202)["state"] == "executing"
    where = accepted.headers["location"]
    assert where == path(api, f"/{plan['plan_id']}")
    other = preview(api, "雨", "雪")
    busy = {"plan_id": other["plan_id"], "digest": other["digest"]}
    refused = problem(api("POST", path(api, "/execute"), json=busy), 429, "REPLACE_BUSY")
    assert refused["retryAfterMs"] == 1000
    api.parts.work()
    assert answer(api("GET", where), 200)["state"] == "done"
    assert [data(api, table) for table in tables] == [text.replace(FROM, TO) for text in before]
    done = execute(api, plan)
    assert (done["replayed"], done["replaced_count"]) == (True, 7)
    undone = undo(api, plan, 202)
    assert undone["state"] == "executing"
    api.parts.work()
    assert [data(api, table) for table in tables] == before


@pytest.mark.parametrize(
    "body",
    [
        {"plan_id": 0},
        {"plan_id": None},
        {"digest": "0" * 31},
        {"digest": None},
        {"preview_id": 1},
        {"except": [1], "only": [2]},
        {"only": None},
        {"only": []},
        {"except": [8]},
        {"except_tables": [2**60]},
        {"leave": [1]},
        {"on_conflict": "overwrite"},
    ],
)
def test_a_wrong_body_is_told_and_changes_nothing(api: Api, body: dict[str, Any]) -> None:
    table = api.table(STORY[0])
    plan = preview(api, FROM, TO)
    sent = {"plan_id": plan["plan_id"], "digest": plan["digest"], **body}
    problem(api("POST", path(api, "/execute"), json=sent), 422, "INVALID_INPUT")
    assert FROM in data(api, table)


def test_a_log_has_ids_and_counts_and_no_text(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    find, becomes = f"{CANARY}-sought", f"{CANARY}-instead"
    table = api.table({f"{CANARY}-key": f"a {find} b"})
    plan = preview(api, find, becomes)
    execute(api, plan)
    put(api, table, {f"{CANARY}-key": "else"})
    undo(api, plan, on_conflict="skip")
    done = [record for record in caplog.records if record.getMessage() == "executed"]
    assert [(each.__dict__["plan_id"], each.__dict__["places"]) for each in done] == [
        (plan["plan_id"], 1)
    ]
