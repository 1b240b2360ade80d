"""Agents of an instance that redacts see placeholders; places count in the source all the same."""

from __future__ import annotations

from typing import Any

from context_search.core.cites import Cite
from tests.builders import english
from tests.web.agent import Agent, agent, data_of, named
from tests.web.api import SMALL, Api, answer

MAIL = "mary.keeper@lighthouse.example"
SECRET = "ghp_" + "aB3dE5gH7jK9" * 3
SENTENCE = f"The harbour master writes to {MAIL} about the tide."


def hits_of(someone: Agent, query: str = "harbour master tide") -> list[dict[str, Any]]:
    """What a search gives the agent."""
    results: list[dict[str, Any]] = someone.done("letters", {"query": query})["results"]
    return results


def test_an_instance_redacts_where_it_is_said_to_and_from_the_next_call_on(api: Api) -> None:
    text = f"{SENTENCE} {english(900)}"
    tool = api.tool(api.table({"a": text}), {**SMALL, "chunk_size": 400}, name="letters")
    open_to = agent(api, tool, replace="off")
    closed = agent(api, tool, replace="off", redact=True)
    plain, hidden = hits_of(open_to), hits_of(closed)
    assert any(MAIL in hit["chunk"]["chunk_text"] for hit in plain)
    assert not any("keeper" in hit["chunk"]["chunk_text"] for hit in hidden)
    assert any("[redacted:email]" in hit["chunk"]["chunk_text"] for hit in hidden)
    for before, after in zip(plain, hidden, strict=True):
        start, end = (after["chunk"][name] for name in ("char_start", "char_end"))
        assert text[start:end] == before["chunk"]["chunk_text"]
        assert Cite.parse(before["cite"]).is_of(text[start:end])
        shown = after["chunk"]["chunk_text"]
        assert Cite.parse(after["cite"]) == Cite.parse(before["cite"]).shown_as(shown)
        assert "content_hash" not in after["chunk"]
    closed.allow(redact=False)
    assert hits_of(closed) == plain
    closed.allow(redact=True)
    assert hits_of(closed) == hidden


def test_previews_of_passages_are_redacted_too(api: Api) -> None:
    table = api.table({"a": f"Write to {MAIL} about the harbour."})
    tool = api.tool(table, {**SMALL, "max_chunk_preview": 20}, name="letters")
    [hit] = hits_of(agent(api, tool, replace="off", redact=True), "harbour")
    assert hit["preview"] == "Write to [redacted:email]"


def test_a_key_that_two_passages_share_is_shown_by_neither(api: Api) -> None:
    config = {**SMALL, "chunk_size": 100, "chunk_overlap": 0}
    text = f"{'The harbour froze over. ' * 3}Its token is {SECRET * 3}. {'The harbour. ' * 9}"
    tool = api.tool(api.table({"a": text}), config, name="letters")
    shown = hits_of(agent(api, tool, replace="off", redact=True), "harbour token")
    texts = " ".join(hit["chunk"]["chunk_text"] for hit in shown)
    assert "[redacted:key]" in texts
    assert "aB3dE5gH7jK9" not in texts


def test_a_question_about_a_pattern_hides_what_it_finds(api: Api) -> None:
    table = api.table({"a": f"Write to {MAIL}."})
    someone = agent(api, api.tool_of_every_string(table), redact=True).with_forms()
    plan = someone.previewed(r"[a-z.]+@[a-z.]+[a-z]", "<$0>", regex=True)
    asked = someone.result("replace_execute", named(plan))
    question = asked["inputRequests"]["confirm"]["params"]["message"]
    assert "for example “[redacted:email]”" in question
    assert MAIL not in question


def test_it_hides_the_kinds_that_the_project_has_chosen(api: Api) -> None:
    tool = api.tool(api.table({"a": f"{SENTENCE} Its token is {SECRET}."}), name="letters")
    chosen = {"redaction": {"enabled": False, "kinds": ["key"]}}
    answer(
        api("PATCH", f"{api.project}/retrieval-settings", json=chosen, headers={"if-match": '"0"'}),
        200,
    )
    shown = str(hits_of(agent(api, tool, replace="off", redact=True)))
    assert MAIL in shown
    assert "aB3dE5gH7jK9" not in shown


def test_a_preview_of_a_replacement_hides_what_surrounds_a_match_and_the_match(api: Api) -> None:
    document = {"a": f"{SENTENCE} The end.", "b": f"Token {SECRET} of the harbour."}
    table = api.table(document)
    someone = agent(api, api.tool_of_every_string(table), redact=True)
    plan = someone.previewed("harbour", "port")
    assert plan["matches_count"] == 2
    for match in plan["matches"]:
        text = document[match["json_pointer"].removeprefix("/")]
        assert text[match["char_start"] : match["char_end"]] == match["found"] == "harbour"
    shown = str(plan["matches"])
    assert "[redacted:" in shown
    assert "keeper" not in shown
    assert "aB3dE5gH7jK9" not in shown
    looked = someone.previewed("master writes.*tide", "$0!", regex=True)
    assert "keeper" not in str(looked["matches"])
    done = someone.done("replace_execute", named(plan))
    assert done["replaced_count"] == 2
    assert MAIL in data_of(api, table)["a"]
