"""Near-duplicates over HTTP: shown once, with the places of the others, on every page."""

from __future__ import annotations

from typing import Any

import pytest

from context_search.core.cites import Cite
from tests.builders import english
from tests.web.api import Api, answer

COPY = "The lighthouse keeper counted nine comets, and wrote all of them down in the ledger."
OTHER = "A keeper of bees lives beside the harbour, far away from any lighthouse."
ROWS = {"rows": [COPY] * 14 + [OTHER]}


@pytest.fixture(scope="module")
def tool(reader: Api) -> dict[str, Any]:
    """A tool of the reader."""
    return reader.tool(reader.table(ROWS))


def ask(api: Api, path: str, query: str, **more: Any) -> dict[str, Any]:
    return answer(api("POST", f"/api/v1/{path}", json={"query": query, **more}), 200)


def test_a_search_shows_a_text_once_if_it_is_to(reader: Api, tool: dict[str, Any]) -> None:
    path = f"tools/{tool['tool_id']}/search"
    plain = ask(reader, path, "lighthouse comets", top_k=2)["results"]
    assert [hit["json_path"] for hit in plain] == ["/rows/0", "/rows/1"]
    assert not any("duplicates" in hit for hit in plain)
    best, other = ask(reader, path, "lighthouse comets", top_k=2, collapse=True)["results"]
    assert (best["json_path"], other["json_path"]) == ("/rows/0", "/rows/14")
    assert best["duplicates"]["total"] == 13
    places = best["duplicates"]["places"]
    assert [place["json_pointer"] for place in places] == [f"/rows/{n}" for n in range(1, 11)]
    assert places[0].keys() == {
        *("id", "table_id", "json_pointer", "chunk_index", "char_start", "char_end", "cite")
    }
    assert Cite.parse(places[0]["cite"]).is_of(COPY)
    assert "duplicates" not in other


def test_the_place_of_a_copy_that_has_changed_is_stale(api: Api) -> None:
    table = api.table({"rows": [COPY] * 3})
    tool = api.tool(table)
    where = f"/api/v1/tables/{table['id']}/data"
    assert api("PUT", where, params={"pointer": "/rows/2"}, json=OTHER).status_code == 200
    path = f"tools/{tool['tool_id']}/search"
    [best] = ask(api, path, "lighthouse comets", top_k=1, collapse=True)["results"]
    marks = {p["json_pointer"]: p.get("stale") for p in best["duplicates"]["places"]}
    assert marks == {"/rows/1": None, "/rows/2": True}


def test_a_retrieval_always_does(reader: Api, tool: dict[str, Any]) -> None:
    path = f"tools/{tool['tool_id']}/retrieve"
    found = ask(reader, path, "lighthouse comets", minScore=0.0)
    first, second = found["results"]
    assert (first["text"], second["text"]) == (COPY, OTHER)
    [chunk] = first["chunks"]
    assert chunk["duplicates"]["total"] == 13
    [of_copy, *_] = [Cite.parse(place["cite"]) for place in chunk["duplicates"]["places"]]
    assert (of_copy.digest, Cite.parse(first["cite"]).is_of(COPY)) == (b"", True)
    assert found["accounting"]["used"] == first["tokens"] + second["tokens"]


def test_pages_of_a_project_agree_with_what_is_shown_once(api: Api) -> None:
    many = [f"{english(300, seed=n)} comets" for n in range(60)]
    table = api.table({"copies": [COPY] * 12, "many": many})
    answer(api("POST", f"{api.project}/search-index"), 202)
    api.parts.work()
    path = f"projects/{api.project_id}/search"
    asked: dict[str, Any] = {"collapse": True, "include_low_score": True}
    first = ask(api, path, "comets keeper lighthouse", **asked)
    assert (len(first["results"]), first["counts"]["ranked"]) == (50, 61)
    assert first["results"][0]["duplicates"]["total"] == 11
    second = ask(api, path, "comets keeper lighthouse", cursor=first["cursor"], **asked)
    assert (len(second["results"]), second["cursor"]) == (11, None)
    shown = [hit["json_path"] for page in (first, second) for hit in page["results"]]
    assert len(set(shown)) == 61
    body = {"query": "comets keeper lighthouse", "cursor": first["cursor"]}
    body |= {"include_low_score": True}
    assert api("POST", f"/api/v1/{path}", json=body).status_code == 422  # another question
    explained = ask(api, f"{path}/explain", "comets keeper lighthouse", **asked)["explain"]
    assert explained["counts"]["shown"] == 50
    assert sum(each["shown"] for each in explained["candidates"]) == 50
    assert table["id"] == first["results"][0]["chunk"]["table_id"]


def test_a_copy_stands_for_a_hit_that_is_gone_when_its_page_comes(api: Api) -> None:
    best = "Comets, comets, comets and nothing but comets. "
    many = [f"{best * 4}{english(200, seed=n)}" for n in range(50)]
    table = api.table({"last": ["A letter names comets once, in winter."] * 3, "many": many})
    answer(api("POST", f"{api.project}/search-index"), 202)
    api.parts.work()
    path, asked = f"projects/{api.project_id}/search", {"collapse": True, "include_low_score": True}
    first = ask(api, path, "comets", **asked)
    where = f"/api/v1/tables/{table['id']}/data"
    gone = api("PUT", where, params={"pointer": "/last/0"}, json="short")
    assert gone.status_code == 200
    api.parts.work()
    second = ask(api, path, "comets", cursor=first["cursor"], **asked)
    [left] = second["results"]
    assert (left["json_path"], left["duplicates"]["total"]) == ("/last/1", 1)
    assert second["counts"]["gone"] == 0
