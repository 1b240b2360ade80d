"""What ``doctor`` finds, and what it says to do."""

from __future__ import annotations

import socketserver
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from context_search.web.app import http_app
from context_search.web.openapi import every_router
from context_search_cli.doctor import certificate
from tests.builders import english
from tests.cli.conftest import app_of, command_line
from tests.cli.running import URL, CliParts, CommandLine, Result
from tests.web.api import LocalParts
from tests.web.in_process import InProcess

TEXT = f"The keeper wound the clockwork of the lantern.\n{english(120)}"


@pytest.fixture
def tool(cli: CommandLine) -> int:
    return cli.tool(cli.table({"notes": TEXT, "title": "Skagen"}, "harbour"))


def test_a_doctor_finds_what_is_not_well(cli: CommandLine, tool: int) -> None:
    result = cli("doctor", "--upload", "--json")
    checks = {each["check"]: each for each in result.document["checks"]}
    assert "wrong" not in {each["state"] for each in checks.values()}
    assert (result.code, checks["cleanup"]["detail"]) == (0, "has not run yet")
    assert [checks[name]["state"] for name in ("upload", "row security")] == ["ok", "ok"]
    assert checks["mcp 2026-07-28"]["detail"].startswith("tools/list has ")
    assert [each["name"] for each in cli.json("tables", "list")["tables"]] == ["harbour"]
    assert "is its schedule on?" in cli.done("doctor").out


def test_a_doctor_says_that_the_functions_own_the_tables(
    module_database: Database, turbopuffer_url: str, tmp_path: Path
) -> None:
    parts = CliParts(module_database, turbopuffer_url)
    cli = command_line(parts, app_of(parts), tmp_path)
    checks = {each["check"]: each for each in cli("doctor", "--json").document["checks"]}
    assert (checks["row security"]["state"], checks["row security"]["todo"]) == (
        "look",
        "docs/deploy.md: a role that owns nothing",
    )


def test_a_doctor_names_every_tool_that_finds_nothing(cli: CommandLine, tool: int) -> None:
    def found(name: str = "tools") -> dict[str, str]:
        checks = cli("doctor", "--json").document["checks"]
        return next(each for each in checks if each["check"] == name)

    assert (found()["state"], found()["detail"]) == ("ok", "1 tool, each index as it should be")
    table = cli.json("tools", "show", tool)["table_id"]
    blind = int(cli("tools", "create", table, "--path", "/nowhere", "--wait", "-q").out)
    assert (found()["state"], found()["detail"]) == ("look", f"tool {blind} is empty")
    assert found("search")["detail"].startswith(f"tool {tool} answers")
    cli.done("tools", "delete", tool, "--yes")
    searched = found("search")
    assert (searched["state"], searched["detail"]) == (
        "look",
        f"tool {blind} has no chunks: nothing of it can be found",
    )


def test_a_doctor_recommends_one_search_where_agents_have_many_tools(cli: CommandLine) -> None:
    def found() -> tuple[str, str, str]:
        checks = cli("doctor", "--json").document["checks"]
        agents = next(each for each in checks if each["check"] == "agents")
        return agents["state"], agents["detail"], agents["todo"]

    table = cli.table({"a": "x" * 40})
    tools = [cli.tool(table, "--name", f"t{number}") for number in range(15)]
    assert found() == ("ok", "no MCP instance", "")
    tools.append(cli.tool(table, "--name", "one-more"))
    assert found() == (
        "look",
        "with a project's key they have over 15 tools to choose among",
        "context-search mcp create NAME --tools single",
    )
    options = [word for tool in tools for word in ("--tool", tool)]
    made = cli.json("mcp", "create", "many", *options)["id"]
    assert found() == (
        "look",
        f"instance {made} has over 15 tools to choose among",
        f"context-search mcp change {made} --tools single",
    )
    cli.done("mcp", "bind", made, tools[0], "--off")
    assert found()[:2] == ("ok", "1 MCP instance")
    cli.done("mcp", "bind", made, tools[0], "--on")
    cli.done("mcp", "change", made, "--tools", "single")
    assert found()[:2] == ("ok", "1 MCP instance")


def test_a_doctor_looks_at_the_script_of_the_console(cli: CommandLine) -> None:
    page = cli.network.inside.handle_request(httpx2.Request("GET", f"{URL}/console"))
    policy = page.headers["Content-Security-Policy"]
    found = {each["check"]: each for each in cli("doctor", "--json").document["checks"]}
    assert found["console"]["state"] == "ok"

    def spoiled(request: httpx2.Request) -> httpx2.Response | None:
        if request.url.path != "/console":
            return None
        text = page.text.replace("</script>", "evil()</script>")
        return httpx2.Response(200, text=text, headers={"Content-Security-Policy": policy})

    page.read()
    cli.network.before.append(spoiled)
    found = {each["check"]: each for each in cli("doctor", "--json").document["checks"]}
    assert found["console"]["state"] == "wrong"


@pytest.mark.parametrize("allowed", [None, "https://elsewhere.example"])
def test_a_doctor_sees_that_a_bucket_refuses_the_console(
    cli: CommandLine, allowed: str | None
) -> None:
    def preflight(request: httpx2.Request) -> httpx2.Response | None:
        if request.method != "OPTIONS":
            return None
        assert request.headers["Access-Control-Request-Headers"] == "content-type"
        return httpx2.Response(
            200, headers={"Access-Control-Allow-Origin": allowed} if allowed else {}
        )

    cli.network.before.append(preflight)
    found = {each["check"]: each for each in cli("doctor", "--upload", "--json").document["checks"]}
    assert (found["upload"]["state"], found["upload"]["todo"]) == (
        "look",
        "put the origin into AllowedOrigins",
    )


@pytest.fixture
def tls(tmp_path: Path) -> Iterator[tuple[int, ssl.SSLContext]]:
    """The port of a TLS server whose certificate ends in three days, and who trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=3, hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "server.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as listening:
        listening.socket = server.wrap_socket(listening.socket, server_side=True)
        threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
        trust = ssl.create_default_context(
            cadata=made.public_bytes(serialization.Encoding.PEM).decode()
        )
        yield listening.server_address[1], trust
        listening.shutdown()


def test_a_doctor_sees_that_a_certificate_ends(tls: tuple[int, ssl.SSLContext]) -> None:
    port, trust = tls
    assert certificate("localhost", port, trust).detail == "ends in 3 days"
    assert certificate("localhost", port, trust).state == "look"
    stranger = certificate("localhost", port, ssl.create_default_context())
    assert (stranger.state, "not trusted" in stranger.detail) == ("look", True)
    assert certificate("localhost", 1, trust).state == "skipped"


def test_a_doctor_says_what_to_do(cli: CommandLine) -> None:
    cli.environment["CONTEXT_SEARCH_KEY"] = "cs_wrong"
    result = cli("doctor", "--json")
    assert result.code == 1
    checks = {each["check"]: each for each in result.document["checks"]}
    assert checks["reachable"]["state"] == "ok"
    assert checks["key"]["state"] == "wrong"
    assert "login" in checks["key"]["todo"]
    assert "cs_wrong" not in result.out + result.err
    assert found_after(result, "key") == {("skipped", "no key")}


def found_after(result: Result, name: str) -> set[tuple[str, str]]:
    """The states and the details of what was checked later than this."""
    checks = result.document["checks"]
    [place] = [place for place, each in enumerate(checks) if each["check"] == name]
    assert checks[-1]["check"] == "console"
    return {(each["state"], each["detail"]) for each in checks[place + 1 :]}


def test_a_doctor_asks_once_where_the_database_is_away(
    cli: CommandLine, turbopuffer_url: str
) -> None:
    nobody = Database(DatabaseUrl.parse("postgresql://nobody@127.0.0.1:9/none"))
    cli.network.inside = InProcess(
        http_app(every_router(), LocalParts(nobody, turbopuffer_url).use_cases)
    )
    result = cli("doctor", "--upload", "--json")
    assert result.code == 1
    wrong = [each for each in result.document["checks"] if each["state"] == "wrong"]
    assert [each["check"] for each in wrong] == ["database"]
    assert found_after(result, "database") == {("skipped", "no database")}
    assert [*cli.paths("GET")].count("/readyz") == 1
    assert cli.pauses == []


@pytest.mark.parametrize("away", ["/mcp", "/search", "canary-signature"])
def test_a_doctor_waits_for_nothing_that_is_away(cli: CommandLine, tool: int, away: str) -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response | None:
        return httpx2.Response(503, json={"message": "busy"}) if asked(request) else None

    def asked(request: httpx2.Request) -> bool:
        return str(request.url).endswith(away)

    cli.pauses.clear()
    cli.network.requests.clear()
    cli.network.before += [refuse] * 9
    found = cli("doctor", "--upload", "--json").document["checks"]
    assert sum(asked(each) for each in cli.network.requests if each.method != "OPTIONS") == (
        2 if away == "/mcp" else 1  # a request for each revision
    )
    assert [each["detail"] for each in found if "503" in each["detail"]]
    assert cli.pauses == []


def test_a_doctor_stops_where_nobody_answers(cli: CommandLine) -> None:
    cli.network.meets("/", httpx2.ConnectError("refused"))
    result = cli("doctor", "--json")
    assert result.code == 5
    assert [each["check"] for each in result.document["checks"]] == ["settings", "reachable"]
