"""``context-search doctor``: what is wrong between here and an answer, and what to do about it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Annotated, Any, Literal

import httpx2
import typer
from rich.text import Text

from context_search_cli import __version__
from context_search_cli.client import Client, Response
from context_search_cli.command import Session, command
from context_search_cli.config import Endpoint
from context_search_cli.failures import Code, CommandError, EndedError, UnreachableError
from context_search_cli.mcp import REVISIONS, list_tools
from context_search_cli.output import Output, counted, number, visible
from context_search_cli.usage import near_limits

app = typer.Typer()
State = Literal["ok", "look", "wrong", "skipped"]
_STYLES = {"ok": "green", "look": "yellow", "wrong": "red", "skipped": "dim"}
_UNWELL = {"degraded", "error", "stalled"}
SKEW_S = 60
CLEANUP_S = 300
_PARTS = {
    "vector_store": "docs/operations.md: turbopuffer; searches answer by words meanwhile",
    "queue": "docs/operations.md: nothing moves; changes are indexed later",
}
"""Parts beside the database that /readyz tells of, and what to do when one is not well."""
SOON_DAYS = 7
RENEWAL_DAYS = 14
"""ACM and certbot have renewed by then."""
TLS_S = 10
MANY_TOOLS = 15
"""Maximum number of tools among which models choose well."""
INSTANCES, BINDINGS = 20, 100
"""Maximum numbers of instances, and of tools of each, that are looked at."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check has found, and what to do if it is not well."""

    state: State
    detail: str
    todo: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One question to the deployment. A refusal is a finding, too; ``todo`` is its advice.

    Where it is wrong and has a ``lack``, what is asked later cannot be told without that.
    """

    name: str
    look: Callable[[], Finding]
    todo: str
    lack: str = ""

    def finding(self) -> Finding:
        """What there is to say; never raises for what the server says."""
        try:
            return self.look()
        except CommandError as error:
            return Finding("wrong", str(error).splitlines()[0], self.todo)
        except (KeyError, TypeError, ValueError) as error:
            return Finding("wrong", f"the answer has no {error}", "is the server of this version?")


@command(app, "doctor")
def doctor(
    session: Session,
    *,
    upload: Annotated[
        bool, typer.Option("--upload", help="Try an upload, too: makes a table and deletes it.")
    ] = False,
) -> None:
    """Check everything from the address to a search, and say what to do."""
    # What passes by itself is a finding, too, and nobody waits for it in each of the checks.
    examination = Examination(replace(session, tries=1))
    reported: list[dict[str, str]] = []
    lack = ""
    for check in examination.checks(upload=upload):
        finding = Finding("skipped", lack) if lack else check.finding()
        if finding.state == "wrong":
            lack = check.lack
        reported.append({"check": check.name, **asdict(finding)})
        if not session.out.as_json:
            _show(session.out, check.name, finding)
        if finding.state == "wrong" and check.name == "reachable":
            session.out.result({"checks": reported}, lambda: None)
            raise EndedError(Code.UNAVAILABLE)
    session.out.result({"checks": reported}, lambda: None)
    if any(each["state"] == "wrong" for each in reported):
        raise EndedError(Code.FAILED)


class Examination:
    """The checks, in the order in which one failure explains the next."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.endpoint: Endpoint = session.configuration.endpoint(session.wanted)
        self.parts: dict[str, Any] = {}
        self.anonymous: Client = session.client_of(replace(self.endpoint, key=None, secret=None))

    def checks(self, *, upload: bool) -> Iterator[Check]:
        """Gives one check after the other."""
        base = self.endpoint.url
        yield Check("settings", self._settings, "")
        yield Check("reachable", self._reachable, f"is {base} right, and does it run?")
        yield Check("certificate", self._certificate, "")
        yield Check("clock", self._clock, "")
        yield Check(
            "database",
            self._ready,
            "the functions cannot reach PostgreSQL: see their log",
            lack="no database",
        )
        for name, todo in _PARTS.items():
            yield Check(name.replace("_", " "), partial(self._part, name), todo)
        yield Check(
            "key",
            self._key,
            "another key: context-search login; operators make new ones",
            lack="no key",
        )
        yield Check("version", self._version, "")
        for revision in REVISIONS:
            yield Check(
                f"mcp {revision}",
                lambda revision=revision: self._mcp(revision),  # type: ignore[misc]
                "docs/mcp.md says what each refusal means; the key needs the scope search",
            )
        yield Check("agents", self._agents, "context-search mcp list")
        yield Check("cleanup", self._cleanup, "docs/operations.md: cleanup")
        yield Check("row security", self._row_security, "")
        yield Check("limits", self._limits, "")
        yield Check("tools", self._tools, "docs/operations.md: nothing moves")
        yield Check("search", self._search, "docs/operations.md: the model, turbopuffer")
        yield Check(
            "upload",
            self._upload if upload else lambda: Finding("skipped", "--upload tries it"),
            "the bucket, its address and its rights: docs/deploy.md",
        )
        yield Check("console", self._console, "deploy the release as it is")

    def _settings(self) -> Finding:
        if self.session.configuration.is_open_to_others():
            path = self.session.configuration.path
            return Finding("wrong", f"others can read {path}", f"chmod 600 {path}")
        if self.endpoint.is_plain:
            return Finding("look", f"{self.endpoint.url} is not encrypted", "use https")
        return Finding("ok", f"{self.endpoint.url}, from {self.endpoint.source}")

    def _reachable(self) -> Finding:
        self.anonymous.get("/healthz")
        return Finding("ok", "/healthz answers")

    def _certificate(self) -> Finding:
        url = httpx2.URL(self.endpoint.url)
        if url.scheme != "https":
            return Finding("skipped", "no TLS")
        if self.session.world.transport is not None:
            return Finding("skipped", "no connection of its own")
        return certificate(url.host, url.port or 443, ssl.create_default_context())

    def _ready(self) -> Finding:
        ready = self.anonymous.get("/readyz")
        self.parts = {part["name"]: part for part in ready["parts"]}
        return Finding("ok", "/readyz answers")

    def _part(self, name: str) -> Finding:
        part = self.parts[name]
        if part["state"] == "ok":
            return Finding("ok", "answers")
        state: State = "wrong" if part["state"] == "failing" else "look"
        return Finding(state, f"{part['state']}: {part['code']}", _PARTS[name])

    def _clock(self) -> Finding:
        date = self.anonymous.get("/healthz").date
        if date is None:
            return Finding("skipped", "the server does not say its time")
        off = abs((datetime.now(UTC) - parsedate_to_datetime(date)).total_seconds())
        if off > SKEW_S:
            return Finding("look", f"{off:.0f} s from the server's", "set this machine's clock")
        return Finding("ok", "as the server's")

    def _key(self) -> Finding:
        if self.endpoint.key is None:
            return Finding("wrong", "there is none", "context-search login")
        reported = self._whoami()
        scopes = ", ".join(reported["scopes"])
        what = f"project {reported['project']['id']}, may {scopes}"
        if reported["expires_at"]:
            left = (datetime.fromisoformat(reported["expires_at"]) - datetime.now(UTC)).days
            if left < SOON_DAYS:
                return Finding("look", f"{what}; ends in {left} days", "context-search keys rotate")
        return Finding("ok", what)

    def _version(self) -> Finding:
        theirs = self._whoami()["version"]
        if theirs.split(".")[:2] != __version__.split(".")[:2]:
            detail = f"the server has {theirs}, this is {__version__}"
            return Finding("look", detail, "install the command line of the server's release")
        return Finding("ok", f"{theirs} there, {__version__} here")

    def _mcp(self, revision: str) -> Finding:
        tools = list_tools(self.session, str(self.session.endpoint.key), revision)
        return Finding("ok", f"tools/list has {counted(len(tools), 'tool')}")

    def _agents(self) -> Finding:
        """What is to be said of the first instances, or of a project's key where there is none.

        With more tools than a model chooses well among, one search over all is better.
        """
        mcps, _ = self.session.client.pages("/api/v1/mcps", "mcps", limit=INSTANCES)
        if not mcps:
            tools, _ = self.session.client.pages("/api/v1/tools", "tools", limit=MANY_TOOLS + 1)
            if len(tools) > MANY_TOOLS:
                detail = f"with a project's key they have over {MANY_TOOLS} tools to choose among"
                return Finding("look", detail, "context-search mcp create NAME --tools single")
            return Finding("ok", "no MCP instance")
        many = [mcp["id"] for mcp in mcps if mcp.get("tools") == "named" and self._has_many(mcp)]
        if many:
            have = "has" if len(many) == 1 else "have"
            detail = f"{_instances(many)} {have} over {MANY_TOOLS} tools to choose among"
            return Finding("look", detail, f"context-search mcp change {many[0]} --tools single")
        return Finding("ok", counted(len(mcps), "MCP instance"))

    def _has_many(self, mcp: dict[str, Any]) -> bool:
        path = f"/api/v1/mcps/{mcp['id']}/bindings"
        bindings, _ = self.session.client.pages(path, "bindings", limit=BINDINGS)
        return len([each for each in bindings if each["status"]]) > MANY_TOOLS

    def _cleanup(self) -> Finding:
        health = self.session.client.get(f"{self.session.project}/health")
        last = health["cleanup"]
        if last is None:
            todo = "ask again in two minutes; then: is its schedule on?"
            return Finding("look", "has not run yet", todo)
        age = (
            datetime.fromisoformat(health["at"]) - datetime.fromisoformat(last["at"])
        ).total_seconds()
        if last["errors"]:
            codes = ", ".join(last["errors"])
            return Finding("look", f"its last run had errors: {codes}", "docs/operations.md")
        if age > CLEANUP_S and not last["rests_until"]:
            return Finding("wrong", f"last ran {number(int(age))} s ago", "is its schedule on?")
        quarantined = health["nodes"].get("quarantined", 0)
        if quarantined:
            return Finding("look", f"{counted(quarantined, 'string')} in quarantine", "tools retry")
        return Finding("ok", f"last ran {number(int(age))} s ago")

    def _row_security(self) -> Finding:
        if self.session.client.get(f"{self.session.project}/health")["row_security"]:
            return Finding("ok", "the database keeps projects apart, too")
        todo = "docs/deploy.md: a role that owns nothing"
        return Finding("look", "off: the functions' role owns the tables or bypasses it", todo)

    def _limits(self) -> Finding:
        near = near_limits(self.session.client.get(f"{self.session.project}/health").body)
        if near:
            return Finding("look", "; ".join(near), "context-search usage; docs/operations.md")
        return Finding("ok", "the project is below all of them")

    def _tools(self) -> Finding:
        """What is to be said of the first hundred tools; an index that is being built is well."""
        tools = self.session.client.get("/api/v1/tools", limit=100)["tools"]
        unwell = [f"tool {tool['id']} {what}" for tool in tools for what in _ails(tool)]
        if unwell:
            detail = ", ".join(unwell)
            return Finding("look", detail, "context-search status TOOL says why")
        return Finding("ok", f"{counted(len(tools), 'tool')}, each index as it should be")

    def _search(self) -> Finding:
        tools = self.session.client.get("/api/v1/tools")["tools"]
        ready = [tool for tool in tools if tool["status"] in {"ready", "rebuilding"}]
        if not ready:
            return Finding("skipped", "no tool is ready to be asked")
        asked = max(ready, key=lambda tool: tool["search_index"]["chunks_count"] > 0)
        if not asked["search_index"]["chunks_count"]:
            detail = f"tool {asked['id']} has no chunks: nothing of it can be found"
            return Finding("look", detail, f"context-search status {asked['id']} says why")
        path = f"/api/v1/tools/{asked['id']}/search"
        answer = self.session.client.ask(path, {"query": "context-search doctor", "top_k": 1})
        retrieval = answer["retrieval"]
        if retrieval["degraded"]:
            codes = ", ".join(retrieval["degraded"])
            return Finding("wrong", f"tool {asked['id']}: {codes}", "docs/api.md: degraded")
        return Finding("ok", f"tool {asked['id']} answers, {retrieval['mode_used']}")

    def _upload(self) -> Finding:
        body = {"project_id": self.session.project_id, "name": "doctor", "data": {}}
        table = self.session.client.create("/api/v1/tables", body)["id"]
        content = json.dumps("context-search doctor").encode()
        try:
            begun = self.session.client.create(
                f"/api/v1/tables/{table}/uploads", {"format": "json", "size": len(content)}
            )
            url, headers = begun["url"], begun["headers"]
            self.session.client.put_document(url, headers, len(content), lambda: iter([content]))
            return self._cors(url, [*headers])
        finally:
            self.session.client.delete(f"/api/v1/tables/{table}")

    def _cors(self, url: str, sent: list[str]) -> Finding:
        """Whether the console's page may do the same: what a browser asks before."""
        origin = re.match(r"https?://[^/]+", self.endpoint.url)
        headers = {
            "Origin": origin[0] if origin else "",
            "Access-Control-Request-Method": "PUT",
            "Access-Control-Request-Headers": ",".join(sorted(map(str.lower, sent))),
        }
        try:
            with httpx2.Client(transport=self.session.world.transport, timeout=10) as http:
                reply = http.options(url, headers=headers)
        except httpx2.HTTPError as error:
            raise UnreachableError(f"no preflight: {type(error).__name__}") from None
        origins = {"*", headers["Origin"]}
        allowed = reply.headers.get("Access-Control-Allow-Origin")
        if not reply.is_success or allowed not in origins:
            detail = "works here; the bucket refuses the console's page"
            return Finding("look", detail, "put the origin into AllowedOrigins")
        return Finding("ok", "the bucket takes documents, also from the console's page")

    def _console(self) -> Finding:
        if not self._whoami()["features"]["console"]:
            return Finding("skipped", "this deployment has none")
        page = self.anonymous.get("/console")
        scripts = re.findall(r"<script[^>]*>(.*?)</script>", page.text, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
        policy = page.policy or ""
        if not scripts or any(f"sha256-{digest}" not in policy for digest in digests):
            return Finding("wrong", "its script is not what its policy allows", "deploy it again")
        return Finding("ok", f"{number(len(page.text))} characters, as its policy has it")

    def _whoami(self) -> dict[str, Any]:
        reported: Response = self.session.client.get("/api/v1/whoami")
        body: dict[str, Any] = reported.body
        return body


def _instances(ids: list[int]) -> str:
    return f"instance{'s' if len(ids) > 1 else ''} {', '.join(map(str, ids))}"


def _ails(tool: dict[str, Any]) -> Iterator[str]:
    """Says what is not well with the index of a tool."""
    index = tool["search_index"]
    if tool["status"] in _UNWELL:
        yield f"is {tool['status']}"
    elif tool["status"] == "ready" and not index["chunks_count"]:
        yield "is empty"
    # An index is ready without them: nothing is to be waited for, and nobody finds them.
    if skipped := index["nodes"].get("skipped"):
        yield f"has {counted(skipped, 'string')} skipped"


def certificate(host: str, port: int, trust: ssl.SSLContext) -> Finding:
    """When the server's certificate ends; one that is not good has ended the check before."""
    try:
        with (
            socket.create_connection((host, port), timeout=TLS_S) as plain,
            trust.wrap_socket(plain, server_hostname=host) as secure,
        ):
            ends = str((secure.getpeercert() or {})["notAfter"])
    except ssl.SSLCertVerificationError as error:
        # The request before may have gone through a proxy, or trusts more than this machine does.
        return Finding("look", f"not trusted here: {error.verify_message}", "SSL_CERT_FILE")
    except (OSError, KeyError) as error:
        return Finding("skipped", f"cannot be looked at: {type(error).__name__}")
    left = int((ssl.cert_time_to_seconds(ends) - datetime.now(UTC).timestamp()) // 86_400)
    if left < RENEWAL_DAYS:
        return Finding("look", f"ends in {left} days", "whoever renews it has not done so")
    return Finding("ok", f"ends in {left} days")


def _show(out: Output, name: str, finding: Finding) -> None:
    head = Text(f"{finding.state:8}", style=_STYLES[finding.state])
    head.append(f"{name:16} ", style="not bold default")
    out.hanging(head, Text(visible(finding.detail)))
    if finding.todo and finding.state in {"look", "wrong"}:
        out.hanging(Text(" " * 25), Text(f"→ {visible(finding.todo)}"))
