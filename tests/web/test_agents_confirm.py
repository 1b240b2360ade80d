"""Somebody agrees before an agent replaces something: asked by the server where the client can."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.web.agent import FORMS, Agent, agent, data_of, named
from tests.web.api import Api, answer

OLD, NEW = "废弃仓库", "荒废工厂"
TEXTS = f"“{OLD}” (4 characters) → “{NEW}” (4 characters)"
STORY = {"a": [OLD, f"{OLD}、{OLD}"], "b": "old"}
AFTER = {**STORY, "b": "older"}
YES: Mapping[str, Any] = {"confirm": {"action": "accept", "content": {"confirm": True}}}
NO: Mapping[str, Any] = {"confirm": {"action": "accept", "content": {"confirm": False}}}


def story(api: Api, **opted_in: Any) -> tuple[dict[str, Any], Agent]:
    """A document, and an agent whose client takes forms."""
    table = api.table(STORY)
    return table, agent(api, api.tool_of_every_string(table), **opted_in).with_forms()


def asked(result: Mapping[str, Any]) -> tuple[str, str]:
    """The question of a result, and the state that goes with it."""
    assert result["resultType"] == "input_required", result
    [(name, request)] = result["inputRequests"].items()
    assert (name, request["method"]) == ("confirm", "elicitation/create")
    schema = request["params"]["requestedSchema"]
    assert (schema["required"], schema["properties"]["confirm"]["type"]) == (["confirm"], "boolean")
    return request["params"]["message"], result["requestState"]


@pytest.mark.parametrize("confirm", ["client", "required"])
def test_the_user_is_asked_until_he_answers_and_what_he_agrees_to_is_done(
    api: Api, confirm: str
) -> None:
    table, someone = story(api, confirm=confirm)
    plan = someone.previewed(OLD, NEW)
    message, state = asked(someone.result("replace_execute", named(plan)))
    assert message == f"Replace 3 matches in 1 document: {TEXTS}?"
    for answers in ({}, {"confirm": {"action": "accept", "content": {"confirm": 1}}}):
        given = {"inputResponses": answers, "requestState": state}
        asked(someone.result("replace_execute", named(plan), **given))
    asked(someone.result("replace_execute", named(plan), inputResponses=YES))  # to no question
    assert data_of(api, table) == STORY
    given = {"inputResponses": YES, "requestState": state}
    first = someone.done("replace_execute", named(plan), **given)
    assert first["replaced_count"] == 3
    assert data_of(api, table)["a"][0] == NEW
    assert someone.done("replace_execute", named(plan)) == {**first, "replayed": True}


def test_an_undo_is_asked_for_too_and_says_what_would_stay(api: Api) -> None:
    table, someone = story(api)
    plan = someone.previewed(OLD, NEW)
    plain = replace(someone, capabilities=None)
    plain.done("replace_execute", named(plan))
    edited = {"a": [f"{NEW}!", data_of(api, table)["a"][1]]}
    assert api("PUT", f"/api/v1/tables/{table['id']}/data", json=edited).status_code == 200
    undo = {"plan_id": plan["plan_id"]}
    message, state = asked(someone.result("replace_undo", undo))
    assert message.startswith(f"Take back what plan {plan['plan_id']} has done: {TEXTS}")
    assert "1 place edited since will stay" in message
    assert data_of(api, table) == edited
    done = someone.done("replace_undo", undo, inputResponses=YES, requestState=state)
    assert done["undoes"] == plan["plan_id"]
    assert data_of(api, table)["a"][1].endswith(OLD)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (NO, "declined"),
        ({"confirm": {"action": "decline"}}, "declined"),
        ({"confirm": {"action": "decline", "content": {"confirm": True}}}, "declined"),
        ({"confirm": {"action": "cancel"}}, "cancelled"),
    ],
)
def test_what_the_user_does_not_agree_to_is_not_done(
    api: Api, answers: Mapping[str, Any], said: str
) -> None:
    table, someone = story(api)
    plan, executed = someone.previewed(OLD, NEW), someone.previewed("old", "older")
    replace(someone, capabilities=None).done("replace_execute", named(executed))
    for name, given, state_of in (
        ("replace_execute", named(plan), "ready"),
        ("replace_undo", {"plan_id": executed["plan_id"]}, "done"),
    ):
        _, state = asked(someone.result(name, given))
        reported = someone.done(name, given, inputResponses=answers, requestState=state)
        assert (reported["user"], reported["state"]) == (said, state_of)
        assert "did not agree" in reported["next"]
    assert data_of(api, table) == AFTER
    _, state = asked(someone.result("replace_execute", named(plan)))
    someone.done("replace_execute", named(plan), inputResponses=YES, requestState=state)


def test_a_state_is_good_for_the_plan_it_was_made_for(api: Api) -> None:
    table, someone = story(api)
    plan, other = someone.previewed(OLD, NEW), someone.previewed(OLD, "x")
    _, of_other = asked(someone.result("replace_execute", named(other)))
    for bad in (of_other, "", "0" * 75):
        given = {"inputResponses": YES, "requestState": bad}
        error = someone.error("replace_execute", named(plan), **given)
        assert (error["code"], error["message"]) == (-32602, "Invalid or expired requestState")
    assert data_of(api, table) == STORY


@pytest.mark.parametrize("capabilities", [None, {"elicitation": {"url": {}}}])
def test_a_client_that_cannot_ask_goes_by_the_annotations_or_is_refused(
    api: Api, capabilities: Mapping[str, object] | None
) -> None:
    table, someone = story(api, confirm="required")
    someone = replace(someone, capabilities=capabilities)
    plan = someone.previewed(OLD, NEW)
    report = someone.refused("replace_execute", named(plan))
    assert (report["code"], report["plan_id"]) == ("CONFIRMATION_UNAVAILABLE", plan["plan_id"])
    assert f"/projects/{api.project_id}/replace/execute" in report["message"]
    assert report["retryable"] is False
    assert data_of(api, table) == STORY
    someone.allow(confirm="client")
    assert someone.done("replace_execute", named(plan))["replaced_count"] == 3
    someone.allow(confirm="required")
    report = someone.refused("replace_undo", {"plan_id": plan["plan_id"]})
    assert report["code"] == "CONFIRMATION_UNAVAILABLE"
    assert f"/replace/{plan['plan_id']}/undo" in report["message"]
    assert data_of(api, table)["a"][0] == NEW


def test_the_era_before_cannot_be_asked_whatever_it_says(api: Api) -> None:
    table, someone = story(api, confirm="required")
    plan = someone.previewed(OLD, NEW)
    _, state = asked(someone.result("replace_execute", named(plan)))
    before = replace(someone, era="2025-11-25", capabilities=FORMS)
    given = {"inputResponses": YES, "requestState": state}
    report = before.refused("replace_execute", named(plan), **given)
    assert report["code"] == "CONFIRMATION_UNAVAILABLE"
    assert data_of(api, table) == STORY


def test_the_console_changes_nothing_where_the_user_must_agree(api: Api) -> None:
    """It calls as ``console/src/mcp.ts`` does: without a revision, and it takes no forms."""
    table, someone = story(api, confirm="client")
    plan, executed = someone.previewed(OLD, NEW), someone.previewed("old", "older")
    replace(someone, capabilities=None).done("replace_execute", named(executed))
    someone.allow(confirm="required")
    undo = {"plan_id": executed["plan_id"]}
    for name, arguments in (("replace_execute", named(plan)), ("replace_undo", undo)):
        params = {"name": name, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        called = answer(api("POST", "/mcp", key=someone.mcp["api_key"], json=body), 200)["result"]
        assert called["isError"] is True
        assert json.loads(called["content"][0]["text"])["code"] == "CONFIRMATION_UNAVAILABLE"
    assert data_of(api, table) == AFTER


def test_nobody_is_asked_about_what_cannot_be_done(api: Api) -> None:
    _, someone = story(api)
    plan = someone.previewed(OLD, NEW)
    other = {**named(plan), "digest": "0" * 32}
    assert someone.refused("replace_execute", other)["code"] == "DIGEST_MISMATCH"
    unread = {"plan_id": plan["plan_id"]}
    assert someone.refused("replace_execute", unread)["code"] == "INVALID_INPUT"
    assert someone.refused("replace_undo", {"plan_id": plan["plan_id"]})["code"] == "CONFLICT"
    root = f"{api.project}/replace"
    assert api("DELETE", f"{root}/{plan['plan_id']}").status_code == 204
    assert someone.refused("replace_execute", named(plan))["code"] == "PLAN_EXPIRED"


def test_a_question_shows_texts_whole_and_what_nobody_sees_by_name(api: Api) -> None:
    texts = ["x\u202ey", "line one\nline two", "k" * 1_000, "5 + 5", "a\u2764\ufe0f"]
    table = api.table({"a": texts})
    someone = agent(api, api.tool_of_every_string(table)).with_forms()
    expected = {
        ("x\u202ey", ""): "Delete 1 match in 1 document: “x⟨U+202E⟩y” (3 characters)?",
        ("one\nline", "1"): "“one⟨U+000A⟩line” (8 characters) → “1” (1 character)?",
        ("k" * 1_000, "k"): f"“{'k' * 1_000}” (1,000 characters) → “k” (1 character)?",
        ("+", "+\ufe01\U000e0100"): "→ “+⟨U+FE01⟩⟨U+E0100⟩” (3 characters)?",
        ("\u2764\ufe0f", "b"): "“\u2764\ufe0f” (2 characters) → “b” (1 character)?",
    }
    for (find, becomes), message in expected.items():
        plan = someone.previewed(find, becomes)
        assert asked(someone.result("replace_execute", named(plan)))[0].endswith(message)
    plan = someone.previewed("[0-9]", "$0$0", regex=True)
    question, _ = asked(someone.result("replace_execute", named(plan)))
    assert question == (
        "Replace 2 matches of the pattern in 1 document: “[0-9]” (5 characters) → “$0$0” "
        "(4 characters), for example “5” (1 character) → “55” (2 characters), and 1 more?"
    )
    assert answer(api("GET", f"/api/v1/tables/{table['id']}"), 200)["revision"] == 1


def test_a_question_about_a_pattern_shows_what_it_finds_and_what_that_becomes(api: Api) -> None:
    long = "9" * 201
    table = api.table({"a": [long, "1 12 1", "123\u200b", "4567", "8" * 200]})
    someone = agent(api, api.tool_of_every_string(table)).with_forms()
    plan = someone.previewed(r"\d+\x{200B}?", "<$0>", regex=True)
    question, state = asked(someone.result("replace_execute", named(plan)))
    samples = (
        "“1” (1 character) → “<1>” (3 characters)",
        "“12” (2 characters) → “<12>” (4 characters)",
        "“123⟨U+200B⟩” (4 characters) → “<123⟨U+200B⟩>” (6 characters)",
    )
    assert question.endswith(f"(4 characters), for example {', '.join(samples)}, and 4 more?")
    done = someone.done("replace_execute", named(plan), inputResponses=YES, requestState=state)
    assert done["replaced_count"] == 7
    plan = someone.previewed("<12>", "", regex=True)
    question, _ = asked(someone.result("replace_execute", named(plan)))
    assert question == (
        "Delete 1 match of the pattern in 1 document: “<12>” (4 characters), "
        "for example “<12>” (4 characters)?"
    )


def test_a_pattern_none_of_whose_matches_can_be_shown_whole_is_left_to_a_person(api: Api) -> None:
    table = api.table({"a": "9" * 201, "b": "8"})
    someone = agent(api, api.tool_of_every_string(table)).with_forms()
    for find, becomes in (("9+", "x"), ("8", "$0" * 201)):
        plan = someone.previewed(find, becomes, regex=True)
        report = someone.refused("replace_execute", named(plan))
        assert "no match is short enough" in report["message"]

    assert data_of(api, table) == {"a": "9" * 201, "b": "8"}


@pytest.mark.parametrize("becomes", ["z" * 1_001, "\u200b" * 200])
def test_texts_that_do_not_fit_into_a_question_are_left_to_a_person(api: Api, becomes: str) -> None:
    table, someone = story(api)
    report = someone.refused("replace_execute", named(someone.previewed("old", becomes)))
    assert report["code"] == "CONFIRMATION_UNAVAILABLE"
    assert "too long" in report["message"]
    assert data_of(api, table) == STORY


def test_a_question_before_a_replacement_is_done_again_shows_its_texts(api: Api) -> None:
    _, someone = story(api)
    plain = replace(someone, capabilities=None)
    plan = someone.previewed(OLD, NEW)
    plain.done("replace_execute", named(plan))
    undo = plain.done("replace_undo", {"plan_id": plan["plan_id"]})
    message, state = asked(someone.result("replace_undo", {"plan_id": undo["plan_id"]}))
    assert message.startswith(f"Do again what plan {plan['plan_id']} has done, and plan ")
    assert f": {TEXTS}, in 3 places?" in message
    given = {"inputResponses": YES, "requestState": state}
    redone = someone.done("replace_undo", {"plan_id": undo["plan_id"]}, **given)
    message, _ = asked(someone.result("replace_undo", {"plan_id": redone["plan_id"]}))
    assert message == f"Take back what plan {redone['plan_id']} has done: {TEXTS}, in 3 places?"
