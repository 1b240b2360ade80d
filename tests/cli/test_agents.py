"""Keys, MCP instances and operators' commands."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import get_args

import httpx2
import pytest

from context_search.access.keys import new_key
from context_search.core.callers import KeyOwner, NewApiKey
from context_search_cli.mcp_clients import CLIENTS, ClientName, Connection
from tests.cli.running import URL, CommandLine
from tests.web.api import SECRET

MCP_PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text("utf-8")
EXAMPLE = Connection("https://HOST/mcp", "KEY")


@pytest.fixture
def operator(cli: CommandLine) -> CommandLine:
    cli.environment["CONTEXT_SEARCH_SECRET"] = SECRET
    return cli


def test_a_key_is_made_shown_once_rotated_and_revoked(cli: CommandLine) -> None:
    made = cli.json("keys", "create", "--name", "ci", "--scope", "search", "--expires-in", "90d")
    assert made["scopes"] == ["search"]
    assert made["expires_at"]
    shown = cli.done("keys", "create", "--scope", "manage")
    assert shown.out.startswith("cs_")
    assert shown.out.strip() not in cli.done("keys", "list").out
    assert cli.json("keys", "list", "--kind", "console")["keys"] == []
    assert {each["kind"] for each in cli.json("keys", "list", "--kind", "all")["keys"]} == {
        "standard"
    }
    path = cli.folder / "new.key"
    rotated = cli.json("keys", "rotate", made["id"], "-o", path)
    assert "api_key" not in rotated
    assert path.stat().st_mode & 0o777 == 0o600
    cli.environment["CONTEXT_SEARCH_KEY_FILE"] = str(path)
    assert cli.json("whoami")["scopes"] == ["search"]
    assert cli("keys", "list").code == 6
    del cli.environment["CONTEXT_SEARCH_KEY_FILE"]
    cli.done("keys", "revoke", rotated["id"], "--yes")
    cli.environment["CONTEXT_SEARCH_KEY_FILE"] = str(path)
    assert cli("whoami").code == 6
    assert cli("keys", "create", "--scope", "search", "--expires-in", "soon").code == 2
    assert "--scope" in cli("keys", "create").err


def test_keys_that_somebody_made_with_tokens_are_listed_and_revoked(cli: CommandLine) -> None:
    alices, bobs = "token:0123456789abcdef", "token:fedcba9876543210"
    owner = KeyOwner(int(cli.json("whoami")["project"]["id"]))
    made = []
    for actor in (alices, alices, bobs):
        with cli.parts.store.for_project(owner.project_id) as work:
            key = new_key()
            made.append(work.keys.add(owner, NewApiKey(None, key.prefix, key.hash, actor=actor)))
    listed = cli.json("keys", "list", "--actor", alices)["keys"]
    assert [key["id"] for key in listed] == [key.id for key in made[:2]]
    assert bobs in cli.done("keys", "list").out
    assert cli("keys", "revoke", "--actor", alices).code == 2
    assert "2 keys" in cli.done("keys", "revoke", "--actor", alices, "--yes").out
    assert cli.json("keys", "revoke", "--actor", alices, "--yes") == {"revoked": 0}
    assert cli.json("keys", "list", "--actor", bobs)["keys"][0]["revoked_at"] is None
    assert cli("keys", "revoke", "--yes").code == 2
    assert cli("keys", "revoke", made[2].id, "--actor", bobs, "--yes").code == 2


def test_an_instance_is_made_bound_and_tried(cli: CommandLine) -> None:
    tool = cli.tool(cli.table({"a": "x" * 40}), "--name", "search_x")
    path = cli.folder / "agent.key"
    made = cli.json("mcp", "create", "support", "-o", path)
    cli.done("mcp", "create", "careful", "--redact", "-o", cli.folder / "careful.key")
    listed = cli.json("mcp", "list")["mcps"]
    assert [(each["name"], each["redact"]) for each in listed] == [
        ("support", False),
        ("careful", True),
    ]
    assert "search_x" not in cli.done("mcp", "try", "--agent-key", path).out
    cli.done("mcp", "bind", made["id"], tool)
    reported = cli.done("mcp", "try", "--agent-key", path)
    assert "search_x" in reported.out
    assert "2025-11-25 and 2026-07-28" in reported.err
    assert path.read_text().strip() not in reported.out + reported.err
    again = cli("mcp", "bind", made["id"], tool, "--json")
    assert (again.code, "--on" in again.document["error"]["advice"]) == (4, True)
    cli.done("mcp", "bind", made["id"], tool, "--off")
    assert cli.json("mcp", "try", "--agent-key", path)["tools"] == []
    cli.done("mcp", "bind", made["id"], tool, "--on")
    assert cli.json("mcp", "try")["tools"]


def test_an_instance_says_what_it_offers(cli: CommandLine) -> None:
    def shown() -> list[tuple[str, str, str]]:
        listed = cli.json("mcp", "list")["mcps"]
        return [(each["tools"], each["reading"], each["texts"]) for each in listed]

    first = cli.json("mcp", "create", "first")["id"]
    said = ("--tools", "connector", "--reading", "off", "--texts", "ours")
    cli.done("mcp", "create", "second", *said, "-o", cli.folder / "second.key")
    assert shown() == [("named", "on", "anyone"), ("connector", "off", "ours")]
    changed = cli.json("mcp", "change", first, "--tools", "single", "--redact", "--name", "new")
    assert (changed["tools"], changed["redact"], changed["name"]) == ("single", True, "new")
    cli.done("mcp", "change", first, "--reading", "off", "--no-redact", "--replace", "propose")
    assert shown()[0] == ("single", "off", "anyone")
    assert cli("mcp", "change", first).code == 2
    assert cli("mcp", "change", first, "--tools", "all").code == 2


@pytest.mark.parametrize("way", ["--on", "--off"])
def test_a_tool_that_an_instance_does_not_have_is_given_to_it_first(
    cli: CommandLine, way: str
) -> None:
    tool = cli.tool(cli.table({"a": "x" * 40}))
    made = cli.json("mcp", "create", "support")["id"]
    result = cli("mcp", "bind", made, tool, way)
    assert result.code == 3
    assert f"give it: context-search mcp bind {made} {tool}\n" in result.err
    assert cli("mcp", "bind", made, tool, way, "--json").document["error"]["code"] == "NOT_FOUND"


def test_every_client_of_the_page_is_there() -> None:
    assert set(get_args(ClientName)) == set(CLIENTS)
    assert len(CLIENTS) == 9


@pytest.mark.parametrize("name", sorted(CLIENTS))
def test_a_configuration_is_the_one_that_the_page_shows(name: ClientName) -> None:
    blocks = re.findall(r"```(?:json|toml|sh)\n(.*?)```", MCP_PAGE, re.DOTALL)
    printed = _meaning(CLIENTS[name].text(EXAMPLE))
    assert printed in [_meaning(block) for block in blocks]


def _meaning(text: str) -> object:
    for parse in (json.loads, tomllib.loads):
        try:
            return parse(text)
        except ValueError:
            continue
    return re.sub(r"[\s\\'\"]+", "", text)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("gemini", ".gemini/settings.json"),
        ("windsurf", ".codeium/windsurf/mcp_config.json"),
    ],
)
def test_a_file_keeps_what_it_had(cli: CommandLine, name: str, place: str) -> None:
    cli.may_be_printed = {cli.key}
    path = cli.folder / place
    cli.done("mcp", "config", "--client", name, "--write")
    [(member, servers)] = json.loads(path.read_text()).items()
    assert list(servers) == ["context-search"]
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text(json.dumps({"theme": "dark", member: {"other": {"url": "x"}}}))
    reported = cli.done("mcp", "config", "--client", name, "--write")
    assert cli.key not in reported.out + reported.err
    merged = json.loads(path.read_text())
    assert merged["theme"] == "dark"
    assert merged[member]["other"] == {"url": "x"}
    assert merged[member]["context-search"] == servers["context-search"]


@pytest.mark.parametrize("content", ["{ // comment\n}", "[]", '{"mcpServers": 5}'])
def test_a_file_of_another_form_stays_as_it_is(cli: CommandLine, content: str) -> None:
    path = cli.file(".mcp.json", content)
    assert cli("mcp", "config", "--client", "claude-code", "--write").code == 2
    assert path.read_text() == content


def test_codex_gets_a_table_behind_its_own(cli: CommandLine) -> None:
    path = cli.folder / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text('# mine\nmodel = "x"')
    cli.done("mcp", "config", "--client", "codex", "--write")
    assert path.read_text().startswith('# mine\nmodel = "x"\n')
    servers = tomllib.loads(path.read_text())["mcp_servers"]
    assert servers["context-search"]["url"] == f"{URL}/mcp"
    assert cli("mcp", "config", "--client", "codex", "--write").code == 2


def test_a_link_is_followed_and_stays(cli: CommandLine) -> None:
    real = cli.file("real.json", "{}")
    link = cli.folder / ".mcp.json"
    link.symlink_to(real)
    cli.done("mcp", "config", "--client", "claude-code", "--write")
    assert link.is_symlink()
    assert "context-search" in real.read_text()


def test_a_key_is_printed_where_that_is_asked_for(cli: CommandLine) -> None:
    assert "KEY" in cli.done("mcp", "config", "--client", "cursor").out
    cli.may_be_printed = {cli.key}
    assert cli.key in cli.done("mcp", "config", "--client", "cursor", "--show-key").out
    assert cli("mcp", "config", "--client", "inspector", "--write").code == 2
    assert cli("mcp", "config", "--client", "claude-desktop", "--write").code == 2
    assert cli("mcp", "config", "--client", "emacs").code == 2


def test_operators_look_and_mend(operator: CommandLine) -> None:
    tool = operator.tool(operator.table({"a": "x" * 40}))
    assert "sweep" in operator.json("ops", "integrity")
    operator.done("ops", "integrity")
    assert operator.json("ops", "redrive", "--limit", 5) == {"messages": 0, "nodes": 0}
    assert operator("ops", "clear", tool).code == 2
    assert operator.json("ops", "clear", tool, "--yes")["tools"] == [tool]


def test_operators_see_all_projects(operator: CommandLine) -> None:
    made = operator.json("ops", "projects", "create", "acme")
    listed = operator.json("ops", "projects", "list", "--limit", 0)
    assert listed["has_more"] is False
    assert {"id": made["id"], "name": "acme"}.items() <= listed["projects"][-1].items()
    assert "acme" in operator.done("ops", "projects", "list").out
    assert operator.json("ops", "projects", "list", "--limit", 1)["has_more"] is True


def test_operators_rebuild_all_projects(operator: CommandLine) -> None:
    operator.tool(operator.table({"a": "x " * 40}))
    reported = operator.json("ops", "rebuild", "--dry-run", "--all")
    assert reported["indexes"] >= 1
    assert operator("ops", "rebuild").code == 2
    nothing = operator.json("ops", "rebuild", "--yes", "--wait")
    assert (nothing["generations"], nothing["up_to_date"]) == (0, reported["indexes"])
    begun = operator.json("ops", "rebuild", "--all", "--yes")
    assert begun["generations"] == reported["indexes"]
    assert operator("ops", "rebuild", "--yes", "--wait", "--timeout", 0).code == 5
    assert "generations" in operator.done("ops", "rebuild", "--all", "--yes").out


def test_rebuilds_of_all_projects_are_summed_over_the_pages(operator: CommandLine) -> None:
    first, last = {"indexes": 50, "cost": 0.5, "cursor": "7"}, {"indexes": 2, "cost": None}
    for page in (first, last):
        operator.network.meets("/", httpx2.Response(200, json={"cursor": None, **page}))
    reported = operator.json("ops", "rebuild", "--dry-run")
    assert reported == {"indexes": 52, "cost": None}
    assert [each.url.params.get("cursor") for each in operator.network.requests] == [None, "7"]


def test_rebuilds_whose_pages_go_in_circles_end(operator: CommandLine) -> None:
    page = httpx2.Response(200, json={"generations": [], "cursor": "7"})
    operator.network.meets("/", page, times=9)
    result = operator("ops", "rebuild", "--yes", "--json")
    assert (result.code, result.document["error"]["code"]) == (5, "UNREACHABLE")
    assert len(operator.network.requests) == 2


def test_the_secret_travels_without_the_key(operator: CommandLine) -> None:
    operator.done("ops", "integrity")
    [request] = operator.network.requests
    assert "authorization" not in request.headers
    operator.environment["CONTEXT_SEARCH_SECRET"] = "wrong"
    assert operator("ops", "integrity").code == 6
    del operator.environment["CONTEXT_SEARCH_SECRET"]
    assert operator("ops", "integrity").code == 2
