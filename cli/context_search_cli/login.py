"""``context-search login``, ``logout``, ``whoami``, ``console``: where to, and as whom."""

from __future__ import annotations

import sys
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from context_search_cli.command import Session, command, filled
from context_search_cli.config import (
    Endpoint,
    EndpointOptions,
    checked_secret,
    checked_url,
    read_secret,
)
from context_search_cli.failures import Code, CommandError, ProblemError, UsageError

app = typer.Typer()
DEFAULT_PROFILE = "default"
ProfileName = Annotated[
    str | None,
    typer.Option("--profile", metavar="NAME", callback=filled, help="The profile to keep it as."),
]


@command(app, "login")
def login(
    session: Session,
    *,
    url: Annotated[str | None, typer.Option("--url", callback=filled, help="The server.")] = None,
    key_file: Annotated[
        str | None, typer.Option("--key-file", metavar="FILE", help="The key; - for stdin.")
    ] = None,
    profile: ProfileName = None,
) -> None:
    """Keep a server and a key in a file that only you can read, after trying them."""
    endpoint = _wanted(session, url, key_file)
    if endpoint.is_plain:
        session.out.warn("http, and not on this machine: the key travels unencrypted")
    reported = session.client_of(endpoint).get("/api/v1/whoami")
    project = reported["project"]
    known = Endpoint(endpoint.url, endpoint.source, endpoint.key, None, int(project["id"]))
    name = profile or DEFAULT_PROFILE
    path = session.configuration.save(name, known)

    def show() -> None:
        session.out.line(f"{_who(reported.body)} at {endpoint.url}")
        session.out.note(f"kept as profile {name} in {path}")

    session.out.result(reported, show)


@command(app, "logout")
def logout(session: Session, *, profile: ProfileName = None) -> None:
    """Forget a profile and its key. The key itself lives on: keys revoke."""
    name = profile or session.configuration.default_name() or DEFAULT_PROFILE
    if not session.configuration.forget(name):
        raise UsageError(f"there is no profile {name}")
    session.out.result({"forgotten": name}, lambda: session.out.made(name, f"{name} is forgotten"))


@command(app, "whoami")
def whoami(session: Session) -> None:
    """Say whose key this is, what it may do, and what the server is."""
    reported = session.client.get("/api/v1/whoami")

    def show() -> None:
        body = reported.body
        key = body["key"] or {}
        session.out.fields(
            {
                "project": f"{body['project']['id']} ({body['project']['name'] or 'no name'})",
                "key": f"{key['id']} ({key['name'] or key['prefix']})" if key else body["kind"],
                "scopes": body["scopes"],
                "ends": body["expires_at"] or "never",
                "server": f"{session.endpoint.url}, version {body['version']}",
                "from": session.endpoint.source,
                "model": f"{body['model']['name']}, {body['model']['dimensions']} dimensions",
                "features": [name for name, is_on in body["features"].items() if is_on],
            }
        )

    session.out.result(reported, show)


@command(app, "console")
def console(
    session: Session,
    *,
    opens: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser.")] = True,
) -> None:
    """Open the web console, signed in by a code that is good once, for five minutes.

    No key is in the address. With one that may not manage, the page asks for the key.
    """
    endpoint = session.configuration.endpoint(session.wanted)
    address, refusal = f"{endpoint.url}/console", ""
    try:
        if endpoint.key is not None:
            address += f"#/once/{session.client.ask('/api/v1/console/codes')['code']}"
    except ProblemError as refused:
        refusal = f": {refused}"
    if "#" not in address:
        _look_for_console(session, endpoint)
        session.out.note(f"sign in there with a key{refusal}")
    session.out.result({"url": address}, lambda: session.out.line(address))
    if opens and session.out.is_terminal:
        webbrowser.open(address)


def _look_for_console(session: Session, endpoint: Endpoint) -> None:
    """Raises CommandError where the deployment has none."""
    try:
        session.client_of(replace(endpoint, key=None, secret=None)).get("/console")
    except ProblemError as refused:
        if refused.status != 404:
            raise
        raise CommandError(
            f"{endpoint.url} has no console. Who deploys it switches it on: the parameter"
            " Console=true; on this machine CONSOLE=true before make serve",
            Code.NOT_FOUND,
            code="NO_CONSOLE",
        ) from None


def _wanted(session: Session, url: str | None, key_file: str | None) -> Endpoint:
    """What the options name; without any, the server and the key that are known here anyway."""
    if url is None and key_file is None:
        return session.endpoint
    address = url or session.configuration.endpoint(EndpointOptions()).url
    return Endpoint(checked_url(address), "options", _key(key_file))


def _key(file: str | None) -> str:
    if file == "-":
        return checked_secret(sys.stdin.readline().strip(), "stdin")
    if file is not None:
        return read_secret(Path(file))
    if not sys.stdin.isatty():
        raise UsageError("the key: --key-file FILE, or --key-file - to read it from stdin")
    return checked_secret(typer.prompt("key", hide_input=True, err=True).strip(), "the prompt")


def _who(reported: dict[str, Any]) -> str:
    project = reported["project"]
    return f"project {project['id']} ({project['name']}), may {', '.join(reported['scopes'])}"
