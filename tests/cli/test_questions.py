"""Search Tools and questions by the command line."""

from __future__ import annotations

import json
import re

import pytest

from tests.builders import english
from tests.cli.running import CommandLine

HOSTILE = "\x1b]0;owned\x07 lantern \u202e keeper"
TEXT = f"The keeper wound the clockwork of the lantern.\n{english(120)} {HOSTILE}"


@pytest.fixture
def tool(cli: CommandLine) -> int:
    return cli.tool(cli.table({"notes": TEXT, "title": "Skagen"}))


def test_the_settings_of_a_tool_are_options(cli: CommandLine) -> None:
    table = cli.table({"a": 1})
    options = ("--fusion", "linear", "--keyword-weight", 0.5, "--strategy", "keyword", "--top-k", 7)
    more = ("--config", json.dumps({"filterable": ["year"]}))
    made = cli.json("tools", "create", table, "--name", "t", *options, *more)
    found = cli.json("tools", "show", made["tool_id"])["search_config"]
    assert found["fusion"] == "linear"
    assert (found["bm25_weight"], found["strategy"], found["top_k"]) == (0.5, "keyword", 7)
    assert found["filterable"] == ["year"]
    assert cli("tools", "create", table, "--config", "[").code == 2
    assert cli("tools", "create", table, "--top-k", 21).code == 2


def test_a_tool_that_will_find_nothing_says_so(cli: CommandLine) -> None:
    result = cli("tools", "create", cli.table({"a": "short"}), "--wait")
    assert result.code == 1
    assert "nothing is indexed: context-search status" in result.err
    assert "no_long_strings" in result.err
    assert "5 characters" in result.err


def test_a_question_finds_its_passage(cli: CommandLine, tool: int) -> None:
    found = cli.json("search", "who wound the clockwork?", "--tool", tool, "--top-k", 1)
    assert "clockwork" in found["results"][0]["chunk"]["chunk_text"]
    reported = cli.done("search", "who wound the clockwork?")  # the only tool there is
    assert "/notes" in reported.out
    assert "characters 0 to" in reported.out


def test_a_passage_has_no_power_over_the_terminal(cli: CommandLine, tool: int) -> None:
    for words in (
        ("search", "lantern"),
        ("search", "lantern", "--explain"),
        ("retrieve", "lantern"),
    ):
        reported = cli.done(*words, "--tool", tool)
        assert not {"\x1b", "\x07", "\u202e"} & set(reported.out + reported.err)
    out = cli.done("search", "lantern", "--json").out
    assert not {"\x1b", "\u202e"} & set(out)


def test_no_hit_is_told_and_no_failure(cli: CommandLine) -> None:
    tool = cli.tool(cli.table({"notes": TEXT}), "--strategy", "keyword")
    result = cli.done("search", "zyzzyva", "--tool", tool)
    assert result.out == ""
    assert "no hit" in result.err


def test_which_tool_is_asked_has_to_be_clear(cli: CommandLine) -> None:
    result = cli("search", "x")
    assert (result.code, "tools create" in result.err) == (3, True)
    table = cli.table({"a": TEXT})
    cli.tool(table)
    cli.tool(table)
    assert cli("search", "lantern").code == 2
    assert cli("search", "lantern", "--tool", 1, "--project").code == 2
    assert cli("search", "lantern", "--tool", 1, "--strategy", "keyword").code == 2
    assert cli("search", "lantern", "--project", "--filter", "{").code == 2


def test_a_project_is_searched_when_its_index_is_on(cli: CommandLine, tool: int) -> None:
    result = cli("search", "lantern", "--project", "--json")
    assert (result.code, result.document["error"]["code"]) == (4, "PROJECT_INDEX_OFF")
    assert "context-search project-index on" in result.document["error"]["advice"]
    assert cli.json("project-index", "on", "--wait")["status"] == "ready"
    assert cli.json("search", "lantern", "--project", "--low-scores")["results"]
    assert "Skagen" in cli.done("search", "lantern", "--project", "--low-scores").out
    explained = cli.json("search", "lantern", "--project", "--explain")
    assert explained["explain"]["candidates"]
    assert cli("project-index", "off").code == 2
    cli.done("project-index", "off", "--yes")
    assert cli("project-index", "status").code == 4


def test_passages_for_a_prompt(cli: CommandLine, tool: int) -> None:
    found = cli.json("retrieve", "who wound the clockwork?", "--max-tokens", 200, "--min-score", 0)
    assert 0 < found["accounting"]["used"] <= 200
    reported = cli.done("retrieve", "who wound the clockwork?", "--min-score", 0)
    assert "clockwork" in reported.out
    assert "tokens" in reported.err
    assert cli.done("retrieve", "clockwork", "--min-score", 0, "--quiet").err == ""


def test_a_budget_under_the_first_hit_says_what_that_needs(cli: CommandLine, tool: int) -> None:
    ask = ("retrieve", "who wound the clockwork?", "--tool", tool, "--min-score", 0)
    reported = cli.done(*ask, "--max-tokens", 1).err
    needed = re.search(r"the first hit needs --max-tokens (\d+)", reported)
    assert needed
    less = cli.done(*ask, "--max-tokens", int(needed[1]) - 1)
    assert (less.out, "needs --max-tokens" in less.err) == ("", True)
    enough = cli.done(*ask, "--max-tokens", needed[1])
    assert "clockwork" in enough.out
    assert "needs --max-tokens" not in enough.err


def test_an_explanation_shows_what_a_score_is_made_of(cli: CommandLine, tool: int) -> None:
    reported = cli.done("search", "clockwork", "--explain").out
    assert "fusion" in reported
    assert "keyword" in reported
    assert cli.json("search", "clockwork", "--explain")["explain"]["candidates"]


def test_the_state_of_an_index(cli: CommandLine, tool: int) -> None:
    assert cli.json("status", tool)["status"] == "ready"
    assert "1 indexed" in cli.done("status", tool).out
    assert cli.done("status", tool, "--exit-when-ready").code == 0
    assert cli.json("status")["tools"][0]["id"] == tool
    [row] = cli.done("status").lines
    assert row[-2:] == ["{0} of {0}".format(cli.json("status", tool)["chunks_count"]), "1 indexed"]
    unnamed = cli("status", "--watch")
    assert (unnamed.code, "context-search status TOOL --watch" in unnamed.err) == (2, True)


def test_a_question_names_no_more_than_eight_tools_and_says_so(cli: CommandLine) -> None:
    table = cli.table({"a": TEXT})
    for name in "abcdefghi":
        cli.done("tools", "create", table, "--name", name)
    reported = cli("search", "clockwork")
    assert reported.code == 2
    assert "(h), … (all: context-search tools list)" in reported.err


def test_a_tool_whose_maker_waits_no_longer_is_named(cli: CommandLine) -> None:
    table = cli.table({"a": TEXT})
    cli.network.meets("/search-index$", KeyboardInterrupt())
    result = cli("tools", "create", table, "--wait", "--quiet")
    cli.network.before.clear()
    [tool] = cli.json("tools", "list")["tools"]
    assert result.code == 130
    assert f"context-search status {tool['id']}" in result.err


def test_waiting_has_an_end(cli: CommandLine) -> None:
    made = cli.json("tools", "create", cli.table({"a": TEXT}), "--chunk-threshold", 20)
    cli.parts.queue.messages.clear()  # nobody will work
    result = cli("status", made["tool_id"], "--watch", "--timeout", 0, "--json")
    assert (result.code, result.document["error"]["code"]) == (5, "TIMEOUT")


def test_a_degraded_answer_says_so(cli: CommandLine, tool: int) -> None:
    cli.table({"more": TEXT})
    cli.done(
        "tables",
        "set",
        cli.json("tools", "show", tool)["table_id"],
        "/new",
        "-",
        "--text",
        stdin=TEXT,
    )
    result = cli.done("search", "lantern", "--tool", tool, "--quiet")
    assert "partial_index" in result.err


def test_an_explanation_may_be_of_a_draft(cli: CommandLine, tool: int) -> None:
    ask = ("search", "clockwork", "--explain")
    explained = cli.json(*ask, "--draft", "fusion=linear,bm25=.5,vector=.4,recency=.1")["explain"]
    assert explained["is_draft"] is True
    assert explained["fusion"]["kind"] == "linear"
    assert "a draft" in cli.done(*ask, "--draft", "vector=null,keyword=null").out
    assert cli("search", "clockwork", "--draft", "vector=1").code == 2
    assert cli(*ask, "--project", "--draft", "vector=1").code == 2
