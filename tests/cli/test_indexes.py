"""Indexes by the command line: changed, built again, emptied, tried again; lists of tables."""

from __future__ import annotations

import re

import httpx2
import pytest

from context_search.core.errors import EmbeddingRejectedError
from context_search_cli.status import far, indexed_share
from context_search_cli.usage import near_limits
from testing.in_memory.embedder import WordEmbedder
from tests.builders import english
from tests.cli.running import CommandLine

TEXT = f"The keeper wound the clockwork of the lantern.\n{english(120)}"


@pytest.fixture
def tool(cli: CommandLine) -> int:
    return cli.tool(cli.table({"notes": TEXT, "title": "Skagen"}, "harbour"))


def test_tables_are_listed_with_their_indexes(cli: CommandLine, tool: int) -> None:
    for number in range(3):
        cli.table({"a": number}, f"other-{number}")
    tables = cli.json("tables", "list")
    assert tables["tables"][0]["name"] == "harbour"
    assert tables["has_more"] is False
    assert tables["tables"][0]["status"] == "ready"
    cut = cli.done("tables", "list", "--limit", 2)
    assert len(cut.lines) == 2
    assert "more than 2" in cut.err
    table = tables["tables"][0]["id"]
    assert (
        "more than 1: --limit 0, or --key" in cli.done("tables", "outline", table, "--limit", 1).err
    )
    assert len(cli.json("tables", "list", "--filter", "OTHER")["tables"]) == 3


def test_a_tool_without_a_name_gets_one_that_agents_call_it_by(cli: CommandLine) -> None:
    names = ["v1.2", "v1-2", "topics.en 2024", "知识库", "replace_undo", "V1.2", "x" * 90, "_ _"]
    for name in names:
        cli.tool(cli.table({"a": "x" * 40}, name))
    tools = cli.json("tools", "list")["tools"]
    made = [tool["name"] for tool in tools]
    numbered = [f"table-{tool['table_id']}" for tool in tools]
    assert made == [
        *("v1-2", "v1-2-2", "topics_en-2024", numbered[3], "replace_undo-2", "V1-2-3"),
        *("x" * 60, numbered[7]),
    ]
    listed = [tool["name"] for tool in cli.json("mcp", "try")["tools"]]
    assert listed == ["read", "find_text", "outline", *made]


def test_strings_that_are_too_short_for_a_tool_are_counted(cli: CommandLine) -> None:
    rows = [{"title": "Skagen", "tags": ["fog", " " * 4], "year": 1890}] * 2
    table = cli.table({"notes": TEXT, "rows": rows})
    small = ("tools", "create", table, "--chunk-threshold", 20)
    assert "4 strings under 20 characters are not indexed" in cli.done(*small).err
    assert "not indexed" not in cli.done(*small, "--scope", "/notes").err
    before = cli.paths("POST").count(f"/api/v1/tables/{table}/data/read")
    cli.done(*small, "--quiet")
    assert cli.paths("POST").count(f"/api/v1/tables/{table}/data/read") == before == 2
    hinted = cli(*small, "--scope", "/rows/0", "--wait")
    assert "no_long_strings" in hinted.err
    assert "--chunk-threshold 3 would index" in hinted.err
    made = [
        each
        for each in cli.paths("POST")
        if each in {f"/api/v1/tables/{table}/data/read", "/api/v1/tools/search"}
    ]
    assert made[-2:] == [f"/api/v1/tables/{table}/data/read", "/api/v1/tools/search"]
    cli.network.meets("/data/read$", httpx2.Response(413, json={"code": "DOCUMENT_TOO_LARGE"}))
    assert "strings under 20 characters are not indexed" in cli.done(*small).err


def test_strings_that_no_search_finds_are_told(cli: CommandLine, tool: int) -> None:
    assert "not searched\t1: too short, too long, or given up" in cli.done("status", tool).out
    for asked in ("search", "retrieve"):
        reported = cli.done(asked, "lantern", "--tool", tool).err
        assert "1 string of the tool's scope not searched" in reported
    whole = cli.tool(cli.table({"notes": TEXT}))
    assert "not searched" not in cli.done("status", whole).out
    assert "not searched" not in cli.done("search", "lantern", "--tool", whole).err


def test_a_tool_changes_what_it_is_called_and_how_it_ranks(cli: CommandLine, tool: int) -> None:
    cli.done("tools", "update", tool, "--name", "search_harbour", "--vector-weight", 0.3)
    shown = cli.json("tools", "show", tool)
    assert shown["name"] == "search_harbour"
    assert shown["search_config"]["vector_weight"] == 0.3
    cli.done("tools", "update", tool, "--calibrated", "--fusion", "rrf")
    settings = cli.json("tools", "show", tool)["search_config"]
    assert (settings["vector_weight"], settings["fusion"]) == (None, "rrf")
    assert cli("tools", "update", tool).code == 2
    fixed = cli("tools", "update", tool, "--config", '{"chunk_size": 500}', "--json")
    assert (fixed.code, fixed.document["error"]["code"]) == (1, "INDEX_SETTING_FIXED")


def test_who_changes_where_is_told_whose_agents_replace_in_what_it_lets_through(
    cli: CommandLine, tool: int
) -> None:
    for name, replace in (("editor", "execute"), ("helper", "propose"), ("reader", "off")):
        path = cli.folder / f"{name}.key"
        more = () if replace == "off" else ("--replace", replace)
        cli.done("mcp", "create", name, "--tool", tool, *more, "--output", path)
    reported = cli.done("tools", "update", tool, "--config", '{"where": null}').err
    assert f"(editor) replaces in every string that tool {tool} returns with this where" in reported
    assert "(helper) proposes to replace in every string" in reported
    assert "(reader)" not in reported
    assert "replace" not in cli.done("tools", "update", tool, "--top-k", 4).err


def test_who_deletes_a_tool_is_told_which_instances_have_it(cli: CommandLine, tool: int) -> None:
    other = cli.tool(cli.json("tools", "show", tool)["table_id"])
    for name, has in (("support", tool), ("sales", tool), ("none", other)):
        cli.done("mcp", "create", name, "--tool", has, "--output", cli.folder / f"{name}.key")
    asked = cli("tools", "delete", tool)
    assert asked.code == 2
    done = cli.done("tools", "delete", tool, "--yes")
    for reported in (asked.err, done.err):
        assert f"(support) has tool {tool}" in reported
        assert f"(sales) has tool {tool}" in reported
        assert "(none)" not in reported


def test_somebody_elses_change_of_a_tool_is_a_conflict(cli: CommandLine, tool: int) -> None:
    def change(request: object) -> None:
        if getattr(request, "method", "") == "PATCH":
            cli.network.before.remove(change)
            cli.done("tools", "update", tool, "--name", "theirs")

    cli.network.before.append(change)
    assert cli("tools", "update", tool, "--name", "mine").code == 4
    assert cli.json("tools", "show", tool)["name"] == "theirs"


def test_an_index_is_built_anew_and_rolled_back(cli: CommandLine, tool: int) -> None:
    estimate = cli.json("tools", "rebuild", tool, "--dry-run")
    assert estimate["vectors_kept"] == estimate["chunks"] > 0
    assert cli.json("tools", "rebuild", tool, "--wait")["status"] == "ready"
    assert cli.json("tools", "rollback", tool)["generation"] == 1
    begun = cli.done("tools", "rebuild", tool)
    assert "generation 3" in begun.out


def test_who_watches_a_rebuild_sees_what_is_built_and_what_answers(
    cli: CommandLine, tool: int
) -> None:
    chunks = cli.json("status", tool)["chunks_count"]
    cli.done("tools", "rebuild", tool)
    cli.parts.work_once()  # compares; nothing is embedded
    shown = dict(line.split("\t") for line in cli.done("status", tool).out.splitlines())
    assert shown["chunks"] == f"{chunks} of {chunks}"
    assert shown["rebuild"] == f"generation 2 at 0 of {chunks} chunks, 0 of 1 strings"
    reported = f"rebuilding: 0 of {chunks} chunks, 0 of 1 strings; {chunks} answer"
    assert reported in cli("status", tool, "--watch", "--timeout", 0).err
    assert "rebuild" not in cli.done("status", tool, "--watch").out


def test_who_watches_sees_the_share_of_the_strings(cli: CommandLine, tool: int) -> None:
    table = cli.json("tools", "show", tool)["table_id"]
    cli.done("tables", "set", table, "/log", "--value", TEXT, "--text")
    cli.parts.work_once()  # compares; the new string is not cut yet
    state = cli.json("status", tool)
    assert (state["nodes"], far(state)) == (
        {"indexed": 1, "queued": 1},
        f"indexing: {state['chunks_count']} of {state['chunks_count']} chunks, 1 of 2 strings",
    )
    assert indexed_share(state) == 0.5
    assert indexed_share({**state, "nodes": {}}) is None


def rebuild_told(cli: CommandLine, tool: int, **reported: object) -> None:
    """The next status of a tool says that a rebuild is so."""
    error = {"code": "EMBEDDING_REJECTED", "message": "…", "retryable": False, "at": "…"}
    state = cli.json("status", tool)
    counted = {name: state[name] for name in ("chunks_count", "indexed_chunks_count", "nodes")}
    rebuild = {"generation": 2, **counted, "last_error": error, **reported}
    reported = {**state, "status": "rebuilding", "rebuild": rebuild}
    cli.network.meets("/", httpx2.Response(200, json=reported))


def test_a_rebuild_that_never_takes_over_ends_the_watching(cli: CommandLine, tool: int) -> None:
    rebuild_told(cli, tool, state="building", status="degraded")
    result = cli("status", tool, "--exit-when-ready")
    assert result.code == 1
    assert "1 of 1 strings, degraded: EMBEDDING_REJECTED" in result.out


@pytest.mark.parametrize(
    ("at", "reported"),
    [
        ("2020-01-01T00:00:00+00:00", "waits for its turn"),
        ("9999-01-01T00:00:00+00:00", "9999-01-01T00:00:00+00:00"),
    ],
)
def test_a_stalled_index_says_why_and_no_attempt_that_is_over(
    cli: CommandLine, tool: int, at: str, reported: str
) -> None:
    state = {**cli.json("status", tool), "status": "stalled", "next_attempt_at": at}
    cli.network.meets("/", httpx2.Response(200, json=state))
    shown = dict(line.split("\t") for line in cli.done("status", tool).out.splitlines())
    assert shown["next attempt"] == reported
    assert "no worker moves one" in shown["why"]


def test_a_rebuild_may_wait_for_its_turn(cli: CommandLine, tool: int) -> None:
    rebuild_told(cli, tool, state="queued", status="indexing")
    assert "rebuild\tgeneration 2 waits for its turn" in cli.done("status", tool).out


def test_an_index_is_emptied_when_that_is_meant(cli: CommandLine, tool: int) -> None:
    assert cli("tools", "clear", tool).code == 2
    twin = cli.tool(cli.json("tools", "show", tool)["table_id"])
    assert cli("tools", "clear", tool, "--yes").code == 4
    emptied = cli.done("tools", "clear", tool, "--yes", "--shared")
    assert emptied.out.endswith(f"gone, of tool {tool}, {twin}\n")
    assert cli.done("search", "lantern", "--tool", tool).out == ""


def test_a_string_that_the_model_refuses_is_told_and_tried_again(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(self: WordEmbedder, texts: object, *, timeout_s: float) -> None:
        raise EmbeddingRejectedError("the provider refuses this")

    with monkeypatch.context() as patched:
        patched.setattr(WordEmbedder, "embed_passages", refuses)
        small = ("--chunk-threshold", 20, "--wait", "-q")
        made = cli("tools", "create", cli.table({"notes": TEXT}), *small)
    assert made.code == 1
    tool = int(made.out)
    result = cli("status", tool, "--exit-when-ready")
    assert result.code == 1
    assert "EMBEDDING_REJECTED" in result.out
    assert f"tools retry {tool}" in result.err
    assert f"tools rebuild {tool}" in result.err  # after a wrong EMBEDDING_MODEL
    [row] = cli.done("tools", "nodes", tool, "--state", "quarantined").lines
    assert (row[0], row[2], row[4]) == ("/notes", "quarantined", "EMBEDDING_REJECTED")
    reported = cli.done("tools", "retry", tool, "/notes")
    assert "1 string" in reported.out
    assert "--watch" in reported.err
    assert cli.done("status", tool, "--exit-when-ready").code == 0


def test_strings_that_wait_for_their_turn_are_counted_and_not_listed(cli: CommandLine) -> None:
    table = cli.table({"notes": [f"{TEXT} {number}" for number in range(3)]})
    tool = cli.done("tools", "create", table, "--chunk-threshold", 20, "-q").out.strip()
    reported = cli.done("status", tool)
    assert "3 queued" in reported.out
    assert "/notes/" not in reported.out
    assert f"3 more that are not indexed: context-search tools nodes {tool}" in reported.err
    assert len(cli.done("tools", "nodes", tool, "--state", "queued").lines) == 3


def test_a_string_is_read_in_windows(cli: CommandLine) -> None:
    text = "ab🐡" * 80_000
    table = cli.table({"long": text, "short": 5})
    assert cli.done("tables", "get", table, "/long", "--text").out == text
    windows = [path for path in cli.paths("POST") if path.endswith("/text")]
    assert len(windows) == 3
    result = cli("tables", "get", table, "/short", "--text", "--json")
    assert (result.code, result.document["error"]["code"]) == (1, "NOT_A_STRING")


def test_a_string_over_an_answers_size_comes_whole(cli: CommandLine) -> None:
    text = '"' * 3_100_000  # quotes count twice in an answer
    table = cli.json("tables", "import", cli.file("l.json", {"long": text, "n": 1}))["id"]
    assert cli.json("tables", "get", table, "/long") == text
    whole = cli("tables", "get", table)
    assert whole.code == 1
    assert "outline" in whole.err


def test_a_string_that_changes_while_it_is_read_is_a_conflict(cli: CommandLine) -> None:
    table = cli.table({"long": "a" * 150_000})
    seen = 0

    def change(request: object) -> None:
        nonlocal seen
        if str(getattr(request, "url", "")).endswith("/text"):
            seen += 1
            if seen == 2:
                cli.done("tables", "set", table, "/long", "-", "--text", stdin="b" * 150_000)

    cli.network.before.append(change)
    assert cli("tables", "get", table, "/long", "--text").code == 4


def test_what_is_in_a_document_and_in_an_index(cli: CommandLine, tool: int) -> None:
    table = cli.json("tools", "show", tool)["table_id"]
    outline = cli.json("tables", "outline", table)
    assert {each["key"]: each["type"] for each in outline["children"]} == {
        "notes": "string",
        "title": "string",
    }
    [row] = cli.done("tables", "outline", table, "--key", "note", "--tool", tool).lines
    assert (row[0], row[5]) == ("notes", "indexed")
    assert cli("tables", "outline", table, "/nowhere").code == 3
    [node] = cli.json("tools", "nodes", tool, "--state", "indexed")["nodes"]
    assert node["json_pointer"] == "/notes"
    assert cli.done("tools", "nodes", tool, "--state", "quarantined").lines == []


def test_usage_says_what_is_held_and_spent_and_what_is_near_its_limit(
    cli: CommandLine, tool: int
) -> None:
    health = cli.json("usage")
    lines = cli.done("usage").out.splitlines()
    assert any(re.fullmatch(r"tables: \d+ of 20,000", line) for line in lines)
    assert "reranks a day: no limit" in lines
    today = health["spent"][0]
    assert today["embedding_tokens"] > 0
    assert lines[-len(health["spent"])].startswith(f"{today['day']}: ")
    assert near_limits(health) == []
    daily = {"embedding_tokens": today["embedding_tokens"], "reranks": None}
    full = {**health, "limits": {**health["limits"], "tools": 1}, "daily_limits": daily}
    names = [each.split(":")[0] for each in near_limits(full)]
    assert names == ["tools", "embedding tokens"]
    assert tool
