"""Search and replace over HTTP: previews, plans, matches."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from context_search_editing.previewing import PreviewLimits, PreviewReplacements
from tests.editing.novel import FACTORY, NOVEL, WAREHOUSE
from tests.web.api import CANARY, Api, answer, problem

LETTERS: dict[str, Any] = {"find": "x", "replace_with": ""}


def path(api: Api, rest: str = "") -> str:
    return f"/api/v1/projects/{api.project_id}/replace{rest}"


def preview(api: Api, find: str, replace_with: str, **more: Any) -> dict[str, Any]:
    body = {"find": find, "replace_with": replace_with, **more}
    return answer(api("POST", path(api, "/preview"), json=body), 200)


def in_queue(api: Api, find: str, replace_with: str, **more: Any) -> int:
    """A plan whose preview is left to a worker."""
    use = api.parts.use_cases.editing.preview
    late = PreviewReplacements(
        use.store, use.patient, use.patterns, use.hash_of, use.clock, PreviewLimits(bytes=0)
    )
    api.parts.use_cases.editing.__dict__["preview"] = late
    try:
        body = {"find": find, "replace_with": replace_with}
        accepted = api("POST", path(api, "/preview"), json=body, **more)
    finally:
        api.parts.use_cases.editing.__dict__["preview"] = use
    made = answer(accepted, 202)
    assert accepted.headers["location"] == path(api, f"/{made['plan_id']}")
    assert (made["state"], made["digest"], made["matches"]) == ("previewing", None, [])
    plan_id: int = made["plan_id"]
    return plan_id


def test_seven_places_in_three_documents(api: Api) -> None:
    tables = [api.table(document, name=document["title"]) for document in NOVEL]
    plan = preview(api, WAREHOUSE, FACTORY, samples=2)
    assert plan["state"] == "ready"
    assert (plan["tables_count"], plan["strings_count"], plan["matches_count"]) == (3, 4, 7)
    assert plan["scanned"]["tables"] == 4
    assert plan["atomic"] is True
    assert len(plan["digest"]) == 32
    assert plan["request"] == {
        "find": WAREHOUSE,
        "replace_with": FACTORY,
        "case_sensitive": True,
        "whole_word": False,
        "regex": False,
        "whole_characters": True,
    }
    assert [(row["table_id"], row["name"], row["matches_count"]) for row in plan["tables"]] == [
        (tables[0]["id"], "第一章", 2),
        (tables[1]["id"], "第二章", 3),
        (tables[2]["id"], "第三章", 2),
    ]
    assert plan["matches"][0] == {
        "match": 1,
        "table_id": tables[0]["id"],
        "json_pointer": "/text",
        "char_start": 4,
        "char_end": 8,
        "before": "他走进了",
        "found": WAREHOUSE,
        "becomes": FACTORY,
        "after": "，满地灰尘。废弃仓库很大。",
    }
    assert plan["cursor"] == "2"
    matches = path(api, f"/{plan['plan_id']}/matches")
    rest = answer(api("GET", matches, params={"cursor": 2, "limit": 4}), 200)
    assert [match["match"] for match in rest["matches"]] == [3, 4, 5, 6]
    last = answer(api("GET", matches, params={"cursor": rest["cursor"]}), 200)
    assert ([match["match"] for match in last["matches"]], last["cursor"]) == ([7], None)
    for table in tables:
        assert answer(api("GET", f"/api/v1/tables/{table['id']}"), 200)["revision"] == 1


def test_what_is_long_is_shown_by_its_beginning(api: Api) -> None:
    api.table({"t": "x" * 300})
    [match] = preview(api, "x{300}", "$0$0", regex=True)["matches"]
    assert (match["found"], match["found_chars"]) == ("x" * 200, 300)
    assert (match["becomes"], match["becomes_chars"]) == ("x" * 200, 600)


def test_a_plan_is_read_listed_and_cancelled(api: Api) -> None:
    api.table(NOVEL[0])
    made = preview(api, WAREHOUSE, FACTORY)
    where = path(api, f"/{made['plan_id']}")
    read = answer(api("GET", where), 200)
    assert {**made, "matches": [], "cursor": "0"} == read
    listed = answer(api("GET", path(api)), 200)
    assert listed["plans"] == [{name: read[name] for name in listed["plans"][0]}]
    assert listed["plans"][0]["request"]["find"] == WAREHOUSE
    assert (read["executed_by"], read["replaced_count"]) == (None, 0)
    assert api("DELETE", where).status_code == 204
    cancelled = answer(api("GET", where), 200)
    assert (cancelled["state"], cancelled["request"]) == ("cancelled", None)
    problem(api("GET", f"{where}/matches"), 409, "PLAN_EXPIRED")
    assert answer(api("GET", path(api), params={"cursor": made["plan_id"]}), 200)["plans"] == []


def test_a_page_of_plans_with_long_texts_is_short(api: Api) -> None:
    api.table({"t": "x"})
    plan = preview(api, "x", "🐡" * 10_000)
    made = [plan["plan_id"]]
    with api.parts.postgres.database.transaction() as tx:
        made += [
            plan_id
            for [plan_id] in tx.run(
                """
                INSERT INTO replace_plan (project_id, state, request, scope, request_hmac, engine,
                                          previewed_by, expires_at, kept_until, counts)
                SELECT project_id, 'expired', request, scope, request_hmac, engine, previewed_by,
                       expires_at, kept_until, counts
                FROM replace_plan, generate_series(1, 60) WHERE id = :id RETURNING id
                """,
                id=plan["plan_id"],
            )
        ]
    pages, cursor = list[list[int]](), None
    while not pages or cursor is not None:
        page = answer(api("GET", path(api), params={"cursor": cursor} if cursor else {}), 200)
        pages.append([each["plan_id"] for each in page["plans"]])
        cursor = page["cursor"]
    assert [len(ids) for ids in pages] == [49, 12]
    assert [plan_id for ids in pages for plan_id in ids] == sorted(made, reverse=True)


def test_a_long_preview_goes_on_in_the_queue(api: Api) -> None:
    for document in NOVEL:
        api.table(document)
    whole = preview(api, WAREHOUSE, FACTORY)
    plan_id = in_queue(api, WAREHOUSE, FACTORY)
    where = path(api, f"/{plan_id}")
    going_on = answer(api("GET", where), 200)
    assert going_on["progress"] == {"tables_done": 0, "tables": 4}
    not_ready = problem(api("GET", f"{where}/matches"), 409, "PLAN_NOT_READY")
    assert not_ready["retryable"] is True
    assert api.parts.use_cases.editing.preview.run(plan_id) == "ready"
    done = answer(api("GET", where), 200)
    assert (done["state"], done["digest"]) == ("ready", whole["digest"])
    assert "progress" not in done


def test_a_preview_that_comes_again_is_answered_with_its_plan(api: Api) -> None:
    api.table(NOVEL[0])
    body = {"find": WAREHOUSE, "replace_with": FACTORY}
    headers = {"Idempotency-Key": "once"}
    first = answer(api("POST", path(api, "/preview"), json=body, headers=headers), 200)
    assert first["matches"]
    again = api("POST", path(api, "/preview"), json=body, headers=headers)
    assert again.headers["idempotency-replayed"] == "true"
    assert answer(again, 200) == {**first, "matches": [], "cursor": "0"}
    assert len(answer(api("GET", path(api)), 200)["plans"]) == 1


def test_the_answer_to_a_preview_does_not_outlive_its_texts(api: Api) -> None:
    api.table(NOVEL[0])
    body = {"find": WAREHOUSE, "replace_with": FACTORY}
    headers = {"Idempotency-Key": "forgotten"}
    made = answer(api("POST", path(api, "/preview"), json=body, headers=headers), 200)
    assert api("DELETE", path(api, f"/{made['plan_id']}")).status_code == 204
    again = api("POST", path(api, "/preview"), json=body, headers=headers)
    assert WAREHOUSE not in again.text
    replayed = answer(again, 200)
    assert (replayed["plan_id"], replayed["state"]) == (made["plan_id"], "cancelled")
    assert replayed["request"] is None


def test_a_long_preview_that_comes_again_says_where_it_is(api: Api) -> None:
    api.table(NOVEL[0])
    headers = {"Idempotency-Key": "long"}
    plan_id = in_queue(api, WAREHOUSE, FACTORY, headers=headers)
    assert in_queue(api, WAREHOUSE, FACTORY, headers=headers) == plan_id


@pytest.mark.parametrize(
    ("body", "code"),
    [
        *(({name: "x"}, "INVALID_INPUT") for name in ("find", "replace_with")),
        *(({**LETTERS, "find": value}, "INVALID_INPUT") for value in ("", "x" * 1_001)),
        ({**LETTERS, "replace_with": "y" * 10_001}, "INVALID_INPUT"),
        ({**LETTERS, "tables": []}, "INVALID_INPUT"),
        ({**LETTERS, "tables": None}, "INVALID_INPUT"),
        ({**LETTERS, "json_pointer": "a"}, "INVALID_POINTER"),
        *(({**LETTERS, "expires_in": value}, "INVALID_INPUT") for value in (59, 86_401)),
        *(({**LETTERS, **more}, "INVALID_INPUT") for more in ({"samples": 201}, {"confirm": True})),
    ],
)
def test_bodies_that_are_refused(reader: Api, body: dict[str, Any], code: str) -> None:
    problem(reader("POST", path(reader, "/preview"), json=body), 422, code)


@pytest.mark.slow
def test_a_pattern_of_re2_is_searched_for(api: Api) -> None:
    api.table({"t": "cat bat hat scatter"})
    plan = preview(api, "[cbh]at", "dog", regex=True, whole_word=True)
    assert plan["matches_count"] == 3
    matches = answer(api("GET", path(api, f"/{plan['plan_id']}/matches")), 200)["matches"]
    assert matches == plan["matches"]


def test_what_a_preview_leaves_in_the_log(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    api.table({CANARY: f"{CANARY} was here"})
    body = {"find": CANARY, "replace_with": f"{CANARY}-too"}
    made = api("POST", path(api, "/preview"), json=body).json()
    problem(
        api("GET", path(api, f"/{made['plan_id']}/matches"), params={"limit": 0}),
        422,
        "INVALID_INPUT",
    )
    assert made["matches_count"] == 1
    [line] = [record for record in caplog.records if record.getMessage() == "previewed"]
    assert line.levelno == logging.INFO
    reported = line.__dict__
    assert (reported["plan_id"], reported["matches"], reported["tables"]) == (made["plan_id"], 1, 1)
    parts = api.parts
    assert reported["request_hmac"] == parts.hash_of(CANARY) + parts.hash_of(f"{CANARY}-too")


def test_a_failed_preview_says_why_and_not_of_what(api: Api) -> None:
    api.table({CANARY: CANARY * 6_000})
    body = {"find": CANARY, "replace_with": CANARY + "y" * 9_900}
    problem(api("POST", path(api, "/preview"), json=body), 413, "REPLACE_TOO_LARGE")
    [plan] = answer(api("GET", path(api)), 200)["plans"]
    assert (plan["state"], plan["error"]["code"]) == ("failed", "REPLACE_TOO_LARGE")
    assert CANARY not in plan["error"]["message"]
