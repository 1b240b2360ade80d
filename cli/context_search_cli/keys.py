"""``context-search keys``: keys of the project. A new key is shown once, or written to a file."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from context_search_cli.client import Response
from context_search_cli.command import (
    Limit,
    Session,
    Yes,
    command,
    confirmed,
    filled,
    group,
    writable,
)
from context_search_cli.config import write_private
from context_search_cli.failures import UsageError
from context_search_cli.output import counted

app = group("keys", "Keys of the project.")


class Scope(StrEnum):
    """What a key may do."""

    SEARCH = "search"
    MANAGE = "manage"
    REPLACE = "replace"


KeyId = Annotated[int, typer.Argument(metavar="KEY", min=1, help="Id of a key.")]
Actor = Annotated[
    str | None,
    typer.Option(metavar="ACTOR", callback=filled, help="Who made them with tokens: token:…"),
]
Output = Annotated[
    Path | None,
    typer.Option(
        *("--output", "-o"),
        metavar="FILE",
        callback=writable,
        help="Write the key there, mode 0600.",
    ),
]
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@command(app, "list")
def list_(
    session: Session,
    *,
    kind: Annotated[
        Literal["standard", "console", "all"],
        typer.Option(help="console: of people who have signed in there."),
    ] = "standard",
    actor: Actor = None,
    limit: Limit = 100,
) -> None:
    """List the keys of the project; their texts are not stored anywhere."""
    columns = ["id", "name", "prefix", "scopes", "last_used_at", "expires_at", "revoked_at"]
    if kind == "all":
        columns.insert(2, "kind")
    path = f"{session.project}/keys"
    found = session.client.pages(path, "keys", limit=limit, kind=kind, actor=actor)
    if any(key["actor"] for key in found[0]):
        columns.insert(4, "actor")
    session.out.listed("keys", found, columns, "no key")


@command(app, "create")
def create(
    session: Session,
    *,
    name: Annotated[str | None, typer.Option(callback=filled, help="For people.")] = None,
    scope: Annotated[list[Scope], typer.Option(help="What it may do; repeat for more.")],
    expires_in: Annotated[
        str | None, typer.Option(metavar="TIME", callback=filled, help="90d, 8h, 30m or seconds.")
    ] = None,
    output: Output = None,
) -> None:
    """Make a key. It is shown this once."""
    body: dict[str, Any] = {"name": name, "scopes": scope}
    body["expires_in"] = seconds(expires_in) if expires_in else None
    body = {key: value for key, value in body.items() if value is not None}
    hand_over(session, session.client.create(f"{session.project}/keys", body), output, "key")


@command(app, "rotate")
def rotate(
    session: Session,
    *,
    key: KeyId,
    old_expires_in: Annotated[
        str, typer.Option(metavar="TIME", help="How long the old one goes on.")
    ] = "1h",
    output: Output = None,
) -> None:
    """Make a key in the place of another, which ends a little later."""
    made = session.client.create(
        f"{session.project}/keys/{key}/rotate", {"old_expires_in": seconds(old_expires_in)}
    )
    hand_over(session, made, output, "key")


@command(app, "revoke")
def revoke(
    session: Session,
    *,
    key: Annotated[int | None, typer.Argument(metavar="KEY", min=1, help="Id of a key.")] = None,
    actor: Actor = None,
    yes: Yes = False,
) -> None:
    """End a key at once, with the keys that were made with it, or all keys of an actor."""
    if (key is None) == (actor is None):
        raise UsageError("name a key, or an actor with --actor")
    if actor is not None:
        _revoke_all_of(session, actor, yes=yes)
        return
    question = f"Revoke key {key}, and those made with it? Who uses one is refused from now on."
    confirmed(session, question, yes=yes)
    session.client.delete(f"{session.project}/keys/{key}")
    session.out.result({"revoked": key}, lambda: session.out.made(key, f"key {key} is revoked"))


def _revoke_all_of(session: Session, actor: str, *, yes: bool) -> None:
    question = f"Revoke every key that {actor} made? Who uses one is refused from now on."
    confirmed(session, question, yes=yes)
    done = session.client.delete(f"{session.project}/keys", actor=actor)
    reported = f"{counted(done['revoked'], 'key')} of {actor} revoked"
    session.out.result(done, lambda: session.out.line(reported))


def hand_over(session: Session, made: Response, output: Path | None, what: str) -> None:
    """Gives a new key to who asked for it: into a file, or once on stdout, and nowhere else."""
    number, key = made["id"], made["api_key"]
    reported = dict(made.body)
    if output is not None:
        write_private(output, f"{key}\n")
        del reported["api_key"]

    def show() -> None:
        if output is None:
            session.out.note(f"{what} {number}, shown this once:")
            session.out.line(key)
        else:
            session.out.made(number, f"{what} {number} is in {output}")

    session.out.result(reported, show)


def seconds(text: str) -> int:
    """``90d``, ``8h``, ``30m``, ``45s`` or ``45`` in seconds. Raises UsageError."""
    found = re.fullmatch(r"([0-9]{1,9})([smhd]?)", text)
    if not found:
        raise UsageError(f"{text!r} is no time: 90d, 8h, 30m, 45s or a number of seconds")
    return int(found[1]) * _UNITS[found[2] or "s"]
