"""Retrieval and its settings over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from context_search.core.cites import Cite
from context_search.text.sensitive.kinds import SENSITIVE_KINDS
from tests.builders import english, planted
from tests.web.api import CANARY, Api, answer, problem

SECRETS = f"Call +86 138-1234-5678 or write to {CANARY}@lighthouse.example."
SENTENCE = f"The lighthouse keeper counted nine comets. {SECRETS}"
TEXT = planted(english(3_000), SENTENCE, 1_500)
DEFAULTS = {
    "version": 0,
    "topK": 5,
    "minScore": 0.7,
    "maxTokens": 1500,
    "neighbours": 1,
    "redaction": {"enabled": True, "kinds": list(SENSITIVE_KINDS)},
}


@pytest.fixture(scope="module")
def tool(reader: Api) -> dict[str, Any]:
    return reader.tool(reader.table({"a": {"t": TEXT}}))


def retrieve(api: Api, tool: dict[str, Any], query: str, **more: Any) -> dict[str, Any]:
    path = f"/api/v1/tools/{tool['tool_id']}/retrieve"
    return answer(api("POST", path, json={"query": query, **more}), 200)


def change(api: Api, body: object, **headers: str) -> Any:
    path = f"/api/v1/projects/{api.project_id}/retrieval-settings"
    return api(
        "PATCH", path, json=body, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


def settings(api: Api) -> dict[str, Any]:
    return answer(api("GET", f"/api/v1/projects/{api.project_id}/retrieval-settings"), 200)


def test_a_passage_has_its_place_its_tokens_and_its_redactions(
    reader: Api, tool: dict[str, Any]
) -> None:
    found = retrieve(reader, tool, "who counted comets at the lighthouse?")
    best = found["results"][0]
    text = best["text"]
    assert "counted nine comets" in text
    assert "138" not in text
    assert [mark["kind"] for mark in best["redactions"]] == ["phone", "email"]
    for mark in reversed(best["redactions"]):
        hidden = TEXT[mark["char_start"] : mark["char_end"]]
        text = text[: mark["text_start"]] + hidden + text[mark["text_end"] :]
    assert text == TEXT[best["char_start"] : best["char_end"]]
    assert (best["json_path"], best["json_pointer"]) == ("/a/t", "/a/t")
    cite = Cite.parse(best["cite"])
    assert (cite.start, cite.end) == (best["char_start"], best["char_end"])
    assert cite.is_of(best["text"])
    assert best["chunks"][0]["relevance"] == best["relevance"] >= 0.7
    counts = dict.fromkeys(SENSITIVE_KINDS, 0) | {"email": 1, "phone": 1}
    assert found["redaction"] == {"enabled": True, "counts": counts}
    assert found["accounting"]["used"] == sum(hit["tokens"] for hit in found["results"])
    assert found["accounting"]["tokenizer"] == "cl100k_base"
    assert found["retrieval"]["mode_used"] == "hybrid"
    assert found["index"] == {"status": "ready", "not_searched": 0}
    assert found["query"] == "who counted comets at the lighthouse?"


def test_nothing_relevant_is_an_empty_answer(reader: Api, tool: dict[str, Any]) -> None:
    found = retrieve(reader, tool, "zebra xylophone")
    assert found["results"] == []
    accounting = found["accounting"]
    assert (accounting["limit"], accounting["used"], accounting["dropped"]) == (1500, 0, [])
    assert accounting["below_min_score"] > 0
    assert found["hint"] == "low_scores_hidden"
    shown = retrieve(reader, tool, "nine comets")
    assert shown["results"]
    assert "hint" not in shown
    dropped = retrieve(reader, tool, "nine comets", maxTokens=1)
    assert dropped["results"] == []
    assert "hint" not in dropped


def test_a_request_may_narrow_and_widen(reader: Api, tool: dict[str, Any]) -> None:
    found = retrieve(reader, tool, "harbour ferry", topK=3, minScore=0, maxTokens=40)
    assert found["settings"] == {"topK": 3, "minScore": 0, "maxTokens": 40, "neighbours": 1}
    assert found["accounting"]["limit"] == 40
    assert found["accounting"]["used"] <= 40
    kept = sum(len(hit["chunks"]) for hit in found["results"])
    assert kept + len(found["accounting"]["dropped"]) == 3
    assert {drop["reason"] for drop in found["accounting"]["dropped"]} <= {
        "over_budget",
        "after_over_budget",
    }
    same = retrieve(reader, tool, "harbour ferry", top_k=3, min_score=0, max_tokens=40)
    assert same == found


@pytest.mark.parametrize(
    "more",
    [
        *({"topK": value} for value in (0, 51, "5", 5.5, True)),
        *({"minScore": value} for value in (-0.1, 1.1, "0.5")),
        *({"maxTokens": value} for value in (0, 100_001)),
        *({"query": value} for value in ("", "x" * 2_001)),
        {"neighbours": 1},
        {"weights": {}},
        {"topK": 1, "top_k": 2},
    ],
    ids=repr,
)
def test_what_is_out_of_its_limits_is_refused(
    reader: Api, tool: dict[str, Any], more: dict[str, Any]
) -> None:
    path = f"/api/v1/tools/{tool['tool_id']}/retrieve"
    problem(reader("POST", path, json={"query": "comets", **more}), 422, "INVALID_INPUT")


def test_a_project_has_default_settings(api: Api) -> None:
    assert settings(api) == {"project_id": api.project_id, **DEFAULTS}


def test_a_change_is_a_version_and_the_rest_stays(api: Api) -> None:
    first = change(api, {"topK": 7, "redaction": {"kinds": ["phone", "key", "phone"]}})
    assert first.headers["etag"] == '"1"'
    changed = {
        "project_id": api.project_id,
        **DEFAULTS,
        "version": 1,
        "topK": 7,
        "redaction": {"enabled": True, "kinds": ["key", "phone"]},
    }
    assert answer(first, 200) == settings(api) == changed
    second = answer(change(api, {"minScore": 1, "redaction": {"enabled": False}}), 200)
    assert second == {
        **changed,
        "version": 2,
        "minScore": 1,
        "redaction": {"enabled": False, "kinds": ["key", "phone"]},
    }


def test_null_is_the_default_again_and_no_change_is_no_version(api: Api) -> None:
    answer(change(api, {"topK": 7, "neighbours": 3, "redaction": {"kinds": []}}), 200)
    body = {"topK": None, "neighbours": None, "redaction": None}
    assert answer(change(api, body), 200) == {
        "project_id": api.project_id,
        **DEFAULTS,
        "version": 2,
    }
    assert answer(change(api, body), 200)["version"] == 2
    assert answer(change(api, {}), 200)["version"] == 2


def test_a_change_of_another_version_is_a_conflict(api: Api) -> None:
    assert answer(change(api, {"topK": 7}, if_match='"0"'), 200)["version"] == 1
    problem(change(api, {"topK": 8}, if_match='"0"'), 409, "CONFLICT")
    problem(change(api, {"topK": 8, "version": 0}), 409, "CONFLICT")
    problem(change(api, {"topK": 8, "version": 1}, if_match='"0"'), 409, "CONFLICT")
    problem(change(api, {"topK": 8}, if_match="new"), 422, "INVALID_INPUT")
    problem(change(api, {"topK": 8}, if_match="1"), 422, "INVALID_INPUT")
    problem(change(api, {"topK": 8}, if_match='W/"1"'), 412, "PRECONDITION_FAILED")
    assert settings(api)["topK"] == 7
    assert answer(change(api, {"topK": 8, "version": 1}, if_match='"1"'), 200)["version"] == 2


@pytest.mark.parametrize(
    "body",
    [
        {"topK": 0},
        {"minScore": "0.7"},
        {"maxTokens": 1.5},
        {"neighbours": 4},
        *({"redaction": value} for value in ({"kinds": ["address"]}, {"enabled": "yes"}, True)),
        {"version": -1},
        {"weights": {"bm25": 1}},
        [],
    ],
    ids=repr,
)
def test_settings_out_of_their_limits_are_refused(reader: Api, body: object) -> None:
    problem(change(reader, body), 422, "INVALID_INPUT")


def test_retrieval_follows_the_settings_of_its_project(api: Api) -> None:
    tool = api.tool(api.table({"a": TEXT}))
    body = {
        "topK": 2,
        "minScore": 0,
        "maxTokens": 99,
        "neighbours": 0,
        "redaction": {"enabled": False},
    }
    answer(change(api, body), 200)
    found = retrieve(api, tool, "call or write to the lighthouse")
    assert found["settings"] == {"topK": 2, "minScore": 0, "maxTokens": 99, "neighbours": 0}
    assert sum(len(hit["chunks"]) for hit in found["results"]) == 2
    assert found["redaction"] == {"enabled": False, "counts": {}}
    assert "+86 138-1234-5678" in "".join(hit["text"] for hit in found["results"])


def switched_on(api: Api) -> None:
    answer(api("POST", f"/api/v1/projects/{api.project_id}/search-index"), 202)
    api.parts.work()


def retrieve_all(api: Api, query: str, **more: Any) -> dict[str, Any]:
    path = f"/api/v1/projects/{api.project_id}/retrieve"
    return answer(api("POST", path, json={"query": query, **more}), 200)


def test_a_project_gives_passages_of_all_its_tables(api: Api) -> None:
    api.table({"a": {"t": TEXT}})
    api.table({"title": "nine comets", "phone": "Comets: 13812345678"})
    path = f"/api/v1/projects/{api.project_id}/retrieve"
    problem(api("POST", path, json={"query": "comets"}), 409, "PROJECT_INDEX_OFF")
    switched_on(api)
    found = retrieve_all(api, "nine comets", minScore=0.3, maxTokens=3_000)
    assert {hit["json_pointer"] for hit in found["results"]} == {"/a/t", "/title", "/phone"}
    assert "138" not in "".join(hit["text"] for hit in found["results"])
    assert found["accounting"]["used"] == sum(hit["tokens"] for hit in found["results"])
    assert found["index"] == {"status": "ready"}
    problem(api.stranger()("POST", path, json={"query": "comets"}), 404, "NOT_FOUND")


def test_a_project_without_passages_says_why(api: Api) -> None:
    switched_on(api)
    assert retrieve_all(api, "comets")["hint"] == "no_match"
    api.table({"a": {"t": TEXT}})
    assert retrieve_all(api, "comets")["hint"] == "index_incomplete"
    api.parts.work()
    assert retrieve_all(api, "zebra xylophone")["hint"] == "low_scores_hidden"
    assert "hint" not in retrieve_all(api, "nine comets", minScore=0.3)
