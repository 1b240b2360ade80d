"""Project search over HTTP: every string of every table, a page at a time."""

from __future__ import annotations

from typing import Any

import pytest

from context_search.core.cites import Cite
from tests.web.api import Api, answer, problem

BOOK = {
    "title": "The lighthouse",
    "chapters": [
        {"title": "Arrival", "type": "chapter", "text": "Lin Yuan came to the harbour at night."},
        {"title": "Storm", "type": "chapter", "text": "The keeper 林远 lit the lamp of the tower."},
    ],
}


def ask(api: Api, query: str, **more: Any) -> dict[str, Any]:
    path = f"/api/v1/projects/{api.project_id}/search"
    return answer(api("POST", path, json={"query": query, **more}), 200)


def refused(api: Api, status: int, code: str, **body: Any) -> None:
    path = f"/api/v1/projects/{api.project_id}/search"
    problem(api("POST", path, json={"query": "harbour"} | body), status, code)


def switch_on(api: Api) -> None:
    answer(api("POST", f"/api/v1/projects/{api.project_id}/search-index"), 202)
    api.parts.work()


def test_it_has_to_be_switched_on_first(api: Api) -> None:
    refused(api, 409, "PROJECT_INDEX_OFF")


def test_a_result_says_where_it_is_and_what_matched(api: Api) -> None:
    table = api.table(BOOK)
    switch_on(api)
    found = ask(api, "林远")
    [best, *_] = found["results"]
    assert best["json_path"] == best["chunk"]["json_pointer"] == "/chapters/1/text"
    assert best["chunk"]["table_id"] == table["id"]
    assert (best["title"], best["type"]) == ("Storm", "chapter")
    [mark] = best["highlights"]
    assert best["snippet"][mark["start"] : mark["end"]] == "林远"
    assert best["snippet"] in best["chunk"]["chunk_text"]
    assert Cite.parse(best["cite"]).is_of(best["chunk"]["chunk_text"])
    parts = best["scoreBreakdown"]
    weighed = 0.55 * parts["bm25"] + 0.35 * parts["semantic"] + 0.10 * parts["recency"]
    assert best["score"] == pytest.approx(weighed, abs=1e-3)
    assert (found["hasMore"], found["cursor"], found["truncated"]) == (False, None, False)
    assert found["index"] == {"status": "ready"}
    assert "hint" not in found


def test_tables_and_pointer_narrow_it(api: Api) -> None:
    api.table(BOOK)
    other = api.table({"notes": "the harbour of another table"})
    switch_on(api)
    everywhere = {each["chunk"]["table_id"] for each in ask(api, "harbour")["results"]}
    assert len(everywhere) == 2
    found = ask(api, "harbour", tables=[other["id"]])
    assert {each["chunk"]["table_id"] for each in found["results"]} == {other["id"]}
    assert found["results"][0]["title"] == "table"
    assert found["results"][0]["type"] == "table"
    found = ask(api, "harbour", json_pointer="/chapters", include_low_score=True)
    assert {each["json_path"].split("/")[1] for each in found["results"]} == {"chapters"}


def test_low_scores_are_hidden_unless_they_are_asked_for(api: Api) -> None:
    api.table({"a": "harbour", "b": "meadow", "c": "orchard"})
    switch_on(api)
    usual = ask(api, "harbour")
    assert all(each["score"] >= 0.25 for each in usual["results"])
    assert usual["counts"]["hidden"] > 0
    every = ask(api, "harbour", include_low_score=True)
    assert len(every["results"]) == len(usual["results"]) + usual["counts"]["hidden"]
    assert every["counts"]["hidden"] == 0


def test_pages_of_fifty_agree_over_changes_and_a_rebuild(api: Api) -> None:
    table = api.table([f"harbour number {number}" for number in range(120)])
    switch_on(api)
    first = ask(api, "harbour", strategy="keyword")
    assert (len(first["results"]), first["hasMore"]) == (50, True)
    internal = f"/internal/projects/{api.project_id}/search-index/rebuild"
    answer(api.internally("POST", internal), 202)
    api.parts.work()
    second = ask(api, "harbour", strategy="keyword", cursor=first["cursor"])
    third = ask(api, "harbour", strategy="keyword", cursor=second["cursor"])
    assert (third["hasMore"], third["cursor"]) == (False, None)
    pages = [first, second, third]
    paths = [each["json_path"] for page in pages for each in page["results"]]
    assert len(paths) == len(set(paths)) == 120
    scores = [each["score"] for page in pages for each in page["results"]]
    assert scores == sorted(scores, reverse=True)
    # The word is all that is known of each, on whichever page it is looked at.
    assert len({each["relevance"] for page in pages for each in page["results"]}) == 1
    assert ask(api, "harbour", strategy="keyword", cursor=first["cursor"]) == second
    assert api("DELETE", f"/api/v1/tables/{table['id']}").status_code == 204
    gone = ask(api, "harbour", strategy="keyword", cursor=first["cursor"])
    assert (gone["results"], gone["counts"]["gone"], gone["hasMore"]) == ([], 50, True)


def test_a_cursor_belongs_to_its_project_and_its_question(api: Api) -> None:
    api.table([f"harbour number {number}" for number in range(60)])
    switch_on(api)
    cursor = ask(api, "harbour", strategy="keyword")["cursor"]
    stranger = api.stranger()
    switch_on(stranger)
    refused(stranger, 422, "CURSOR_INVALID", strategy="keyword", cursor=cursor)
    refused(api, 422, "CURSOR_INVALID", strategy="hybrid", cursor=cursor)
    refused(api, 422, "CURSOR_INVALID", strategy="keyword", cursor="x")
    assert len(ask(api, "harbour", strategy="keyword", cursor=cursor)["results"]) == 10


def test_many_candidates_are_cut_and_it_says_so(api: Api) -> None:
    api.table([f"harbour number {number}" for number in range(30)])
    switch_on(api)
    found = ask(api, "harbour", strategy="keyword", candidates=10)
    assert (len(found["results"]), found["truncated"]) == (10, True)


def test_an_empty_answer_gives_a_hint(api: Api) -> None:
    switch_on(api)
    assert ask(api, "harbour")["hint"] == "no_match"
    api.table({"a": "meadow"})
    assert ask(api, "harbour", strategy="keyword")["hint"] == "index_incomplete"
    api.parts.work()
    found = ask(api, "harbour", strategy="keyword")
    assert (found["results"], found["hint"]) == ([], "no_match")
    assert ask(api, "harbour", strategy="semantic")["hint"] == "low_scores_hidden"


def test_it_explains_a_first_page(api: Api) -> None:
    api.table(BOOK)
    switch_on(api)
    plain = ask(api, "harbour")
    path = f"/api/v1/projects/{api.project_id}/search/explain"
    reported = answer(api("POST", path, json={"query": "harbour"}), 200)
    said = reported.pop("explain")
    assert reported == plain
    assert said["fusion"]["weights"] == {"keyword": 0.55, "vector": 0.35, "recency": 0.1}
    assert said["query_tokens"] == ["harbour"]
    assert said["candidates"][0]["matched_terms"]
    shown = [each["chunk_id"] for each in said["candidates"] if each["shown"]]
    assert shown == [result["chunk"]["id"] for result in plain["results"]]
    assert said["counts"]["candidates"] == len(said["candidates"])
    flagged = ask(api, "harbour", explain=True)
    assert flagged["explain"]["candidates"] == said["candidates"]


def test_only_a_first_page_is_explained(api: Api) -> None:
    path = f"/api/v1/projects/{api.project_id}/search/explain"
    body = {"query": "harbour", "cursor": "0" * 32 + ".50"}
    problem(api("POST", path, json=body), 422, "INVALID_INPUT")
    problem(api("POST", path, json={"query": "harbour"}), 409, "PROJECT_INDEX_OFF")


def test_another_project_and_wrong_bodies_are_refused(api: Api) -> None:
    switch_on(api)
    path = f"/api/v1/projects/{api.project_id}/search"
    problem(api.stranger()("POST", path, json={"query": "x"}), 404, "NOT_FOUND")
    refused(api, 422, "INVALID_POINTER", json_pointer="no-slash")
    refused(api, 422, "INVALID_INPUT", tables=[])
    refused(api, 422, "INVALID_INPUT", candidates=5_001)
    refused(api, 422, "INVALID_INPUT", weights=[1])
    refused(api, 422, "INVALID_INPUT", strategy="fts")
    refused(api, 422, "QUERY_EMPTY", query="…")


def test_no_result_is_lost_behind_those_whose_texts_were_compared(api: Api) -> None:
    """Of 230 equal texts 200 are compared and one is shown; the others follow, with their texts."""
    api.table({f"note {number}": "the same old harbour" for number in range(230)})
    switch_on(api)
    asked = {"candidates": 300, "collapse": True, "include_low_score": True}
    found = ask(api, "harbour", **asked)
    assert [each["duplicates"]["total"] for each in found["results"]] == [199]
    texts = []
    while cursor := found["cursor"]:
        found = ask(api, "harbour", cursor=cursor, **asked)
        texts += [each["chunk"]["chunk_text"] for each in found["results"]]
    assert texts == ["the same old harbour"] * 30
