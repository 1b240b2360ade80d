"""``context-search tables``: documents."""

from __future__ import annotations

import io
import json
import os
import sys
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from context_search_cli.client import Response, encoded
from context_search_cli.command import (
    Limit,
    Session,
    TableId,
    Timeout,
    Yes,
    command,
    confirmed,
    delete_named,
    filled,
    group,
    writable,
)
from context_search_cli.config import write_private
from context_search_cli.failures import (
    Code,
    CommandError,
    ProblemError,
    UnreachableError,
    UsageError,
)
from context_search_cli.importing import (
    DEFAULT_THRESHOLD,
    Source,
    Target,
    bring,
    finished,
    measured,
    opened,
)
from context_search_cli.output import one_line

TEXT_SHOWN = 60
"""Characters of a string that an outline shows."""
app = group("tables", "Documents: import, read, change, versions.")
Pointer = Annotated[str, typer.Argument(metavar="[POINTER]", help="JSON pointer, RFC 6901.")]
Revision = Annotated[
    int | None, typer.Option("--revision", min=0, help="Only if the table has this revision.")
]
UrlTemplate = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Where its owner shows a place, with {table_id}, {pointer}, {start}, {end}, {cite}.",
    ),
]
File = Annotated[str, typer.Argument(metavar="FILE", help="A file, or - for stdin.")]


@command(app, "list")
def list_(
    session: Session,
    *,
    query: Annotated[str | None, typer.Option("--filter", help="Part of a name.")] = None,
    limit: Limit = 100,
) -> None:
    """List the tables of the project."""
    members = "id name revision stored_bytes tools_count status chunks_count updated_at"
    session.out.listed(
        "tables",
        session.client.pages("/api/v1/tables", "tables", limit=limit, page=50, q=query),
        ("id", "name", "revision", "stored_bytes", "tools", "status", "chunks", "updated_at"),
        "no table yet: context-search tables import FILE",
        cells=itemgetter(*members.split()),
    )


@command(app, "import")
def import_(
    session: Session,
    *,
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="A file, or - for stdin.")],
    name: Annotated[
        str | None, typer.Option(callback=filled, help="Name of the table; else the file's.")
    ] = None,
    description: Annotated[str | None, typer.Option(help="For people.")] = None,
    url_template: UrlTemplate = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="One JSON value a line.")] = False,
    replace: Annotated[
        int | None, typer.Option(metavar="TABLE", min=1, help="Replace this table's content.")
    ] = None,
    revision: Revision = None,
    wait: Annotated[bool, typer.Option(help="Wait until an upload is imported.")] = True,
    timeout: Timeout = 900,
) -> None:
    """Import JSON, or a text by its chapters, as a table. What is over 6 MB goes by upload."""
    if replace is not None and (name, description, url_template) != (None, None, None):
        raise UsageError("--replace keeps the table's name, description and --url-template")
    if replace is None and revision is not None:
        raise UsageError("--revision goes with --replace")
    file = _only(files)
    with opened(file, is_jsonl=jsonl, takes_texts=True) as source:
        if replace is None:
            target = Target(
                name=_name_of(file) if name is None else name,
                description=description,
                url_template=url_template,
            )
        else:
            seen = _current(session, replace) if revision is None else revision
            target = Target(replace, seen)
        table = bring(session, source, target, wait=wait, timeout_s=timeout)
    done = "imported" if replace is None else "replaced"
    if _has(table, "upload_id"):
        done = f"is being {done}"
    _reported(session, table, f"{done}: {source.size:,} bytes")
    if replace is None and source.threshold < DEFAULT_THRESHOLD:
        session.out.note(
            "its chapters are short; this makes them searchable:"
            f" context-search tools create {table['id']} --chunk-threshold {source.threshold}"
        )


@command(app, "show")
def show(session: Session, *, table: TableId) -> None:
    """Show a table: name, revision, the tools that search it."""
    found = session.client.get(f"/api/v1/tables/{table}")
    session.out.result(found, lambda: session.out.fields(found.body))


@command(app, "change")
def change(
    session: Session,
    *,
    table: TableId,
    url_template: UrlTemplate = None,
    no_url_template: Annotated[
        bool, typer.Option("--no-url-template", help="Answers name no such address.")
    ] = False,
) -> None:
    """Change where the owner of a table shows its places. The document stays."""
    if no_url_template is (url_template is not None):
        raise UsageError("--url-template URL or --no-url-template, one of them")
    path, body = f"/api/v1/tables/{table}", {"url_template": url_template}
    changed = session.client.request("PATCH", path, body, is_safe=True)
    _reported(session, changed, "changed")


@command(app, "get")
def get(
    session: Session,
    *,
    table: TableId,
    pointer: Pointer = "",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", callback=writable, help="Write to this file."),
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="A string as its text.")] = False,
) -> None:
    """Print the value at a pointer, digit by digit as it is stored."""
    content = _string(session, table, pointer) if text else _value(session, table, pointer)
    if output is not None:
        write_private(output, content if text else content + "\n")
        session.out.note(f"written: {output}")
    elif text and session.out.as_json:
        session.out.raw_json(json.dumps(content, ensure_ascii=False))
    elif text and not session.out.is_terminal:
        sys.stdout.write(content)
    elif text:
        session.out.line(content)
    else:
        session.out.raw_json(content)


@command(app, "outline")
def outline(
    session: Session,
    *,
    table: TableId,
    pointer: Pointer = "",
    only: Annotated[
        Literal["large", "problem"] | None, typer.Option(help="Only what holds such strings.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Part of a member's key.")] = None,
    tool: Annotated[int | None, typer.Option(min=1, help="States of this tool's index.")] = None,
    limit: Limit = 200,
) -> None:
    """List what is in a document: keys, types, lengths, what is indexed."""
    asked = {"json_pointer": pointer, "only": only, "key": key, "tool_id": tool}
    asked = {name: value for name, value in asked.items() if value is not None}
    path = f"/api/v1/tables/{table}/outline"
    session.out.listed(
        "children",
        session.client.asked_pages(path, "children", asked, limit=limit),
        ("key", "type", "length", "large", "problems", "index", "text"),
        "nothing is in it",
        cells=lambda child: [
            *(child[name] for name in ("key", "type", "length", "large_strings", "problems")),
            (child["string"] or {}).get("state"),
            one_line(child["text"] or "")[:TEXT_SHOWN],
        ],
        fewer=", or --key",
        json_pointer=pointer,
    )


@command(app, "set")
def set_(
    session: Session,
    *,
    table: TableId,
    pointer: Annotated[str, typer.Argument(help="The place; /- appends to an array.")],
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="A file with the value, or - for stdin.")
    ] = None,
    value: Annotated[
        str | None, typer.Option(metavar="JSON", help="The value itself, instead of a file.")
    ] = None,
    text: Annotated[
        bool, typer.Option("--text", help="What is given is the text of a string, not JSON.")
    ] = False,
    revision: Revision = None,
) -> None:
    """Set the value at a pointer, if nobody has changed the table meanwhile."""
    content = _content(file, value, is_text=text)
    body = b'{"json_pointer": ' + encoded(pointer) + b', "value": ' + content + b"}"
    _change(session, table, "replace", body, revision)


@command(app, "remove")
def remove(
    session: Session,
    *,
    table: TableId,
    pointer: Annotated[str, typer.Argument(help="The place: a member, or an item of an array.")],
    revision: Revision = None,
) -> None:
    """Remove the value at a pointer, if nobody has changed the table meanwhile."""
    _change(session, table, "remove", encoded({"json_pointer": pointer}), revision)


@command(app, "versions")
def versions(session: Session, *, table: TableId, limit: Limit = 100) -> None:
    """List the versions of a table, the newest first."""
    session.out.listed(
        "versions",
        session.client.pages(f"/api/v1/tables/{table}/versions", "versions", limit=limit),
        ("revision", "cause", "actor", "recorded", "gap", "bytes", "label", "created_at"),
        "no version",
    )


@command(app, "restore")
def restore(
    session: Session,
    *,
    table: TableId,
    version: Annotated[int, typer.Argument(min=0, help="A revision that is recorded.")],
    revision: Revision = None,
    timeout: Timeout = 900,
) -> None:
    """Make an old version the newest one. What is there now is kept as a version."""
    seen = _current(session, table) if revision is None else revision
    restored = session.client.request(
        "POST",
        f"/api/v1/tables/{table}/versions/{version}/restore",
        headers={"If-Match": f'"{seen}"'},
    )
    if restored.status == 202:
        finished(session, restored, timeout)
        restored = session.client.get(f"/api/v1/tables/{table}")
    _reported(session, restored, f"version {version} is back")


@command(app, "erase")
def erase(
    session: Session,
    *,
    table: TableId,
    version: Annotated[
        int | None, typer.Argument(metavar="[VERSION]", min=0, help="A revision.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All but the live one.")] = False,
    yes: Yes = False,
) -> None:
    """Erase the content of an old version, or of all. Nobody reads it again."""
    if every is (version is not None):
        raise UsageError("VERSION or --all, one of them")
    what = "all old versions" if version is None else f"version {version}"
    confirmed(session, f"Erase {what} of table {table}?", yes=yes)
    place = "" if version is None else f"/{version}"
    session.client.delete(f"/api/v1/tables/{table}/versions{place}")
    reported = {"table_id": table, "erased": "all" if version is None else version}
    verb = "are" if version is None else "is"
    session.out.result(
        reported, lambda: session.out.made(table, f"table {table}: {what} {verb} erased")
    )


@command(app, "delete")
def delete(session: Session, *, table: TableId, yes: Yes = False) -> None:
    """Delete a table with its tools, their hits and its versions."""
    path = f"/api/v1/tables/{table}"
    delete_named(session, path, f"table {table}", " with its tools and versions", yes=yes)


def _change(session: Session, table: int, how: str, body: bytes, revision: int | None) -> None:
    """Changes a document below ``…/data``, at the revision that is there now or was given."""
    seen = _current(session, table) if revision is None else revision
    changed = session.client.request(
        "POST",
        f"/api/v1/tables/{table}/data/{how}",
        content=body,
        headers={"If-Match": f'"{seen}"'},
    )
    _reported(session, changed, "unchanged" if changed["revision"] == seen else "changed")


def _value(session: Session, table: int, pointer: str) -> str:
    """The JSON of a value. A string that is over what an answer may have comes in windows."""
    try:
        path = f"/api/v1/tables/{table}/data/read"
        found = session.client.ask(path, {"json_pointer": pointer})
        _ = found.value  # what is no JSON is no document
        return found.text
    except ProblemError as problem:
        if problem.status != 413:
            raise
        too_large = problem
    try:
        return json.dumps(_string(session, table, pointer), ensure_ascii=False)
    except ProblemError as problem:
        if problem.problem.get("code") != "NOT_A_STRING":
            raise
        session.out.note("read it in parts: context-search tables outline shows which")
        raise too_large from None


def _string(session: Session, table: int, pointer: str) -> str:
    """The text of a string of any length, all of it of one revision of the string."""
    path = f"/api/v1/tables/{table}/text"
    pieces: list[str] = []
    digest, at = None, 0
    with session.out.progress("reading") as report:
        while True:
            window = session.client.ask(path, {"json_pointer": pointer, "start": at})
            if digest not in {None, window["hash"]}:
                raise CommandError(
                    "the string was changed meanwhile: ask again", Code.CONFLICT, code="CONFLICT"
                )
            pieces.append(window["text"])
            end, total = window["end"], window["total"]
            report(f"{end:,} of {total:,} characters", end / total if total else None)
            if end >= total:
                return "".join(pieces)
            if end <= at:
                raise UnreachableError("the string does not go on: is this address the API's?")
            digest, at = window["hash"], end


def _reported(session: Session, table: Response | dict[str, Any], done: str) -> None:
    def show() -> None:
        named = f" ({table['name']})" if _has(table, "name") else ""
        at = f", revision {table['revision']}" if table["revision"] is not None else ""
        session.out.made(table["id"], f"table {table['id']}{named} {done}{at}")

    session.out.result(table, show)


def _has(table: Response | dict[str, Any], name: str) -> bool:
    return bool((table.body if isinstance(table, Response) else table).get(name))


def _current(session: Session, table: int) -> int:
    return session.client.get(f"/api/v1/tables/{table}").revision


def _only(files: list[str]) -> str:
    """Return the one file that becomes a table. Raises UsageError for several, or a folder."""
    if len(files) == 1 and not Path(files[0]).is_dir():
        return files[0]
    what = f"{files[0]} is a folder" if len(files) == 1 else f"{len(files)} files"
    raise UsageError(
        f"{what}: one file makes one table; import each by itself, or put the documents into one"
        " file of JSON Lines"
    )


def _name_of(file: str) -> str:
    if file == "-":
        raise UsageError("stdin has no name: --name NAME")
    return os.fsencode(Path(file).stem).decode(errors="replace")


def _content(file: str | None, value: str | None, *, is_text: bool) -> bytes:
    """The JSON of a value, a file's or the command line's own. Raises UsageError."""

    def read(source: Source) -> bytes:
        return encoded(source.text()) if is_text else source.inline()

    try:
        if value is not None and file is None:
            return read(measured(io.BytesIO(os.fsencode(value)), "--value", is_jsonl=False))
        if file is not None and value is None:
            with opened(file, is_jsonl=False) as source:
                return read(source)
        raise UsageError("FILE or --value, one of them")
    except UsageError as error:
        error.advise("the value itself: --value JSON, or --value TEXT --text")
        raise
