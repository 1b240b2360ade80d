"""Brings a document to the server: in a request if it fits there, else through the bucket.

What was begun and cannot be finished leaves nothing behind: a table that was made for the
document goes again, also with Ctrl-C, or is named where it cannot go; a table that was to be
replaced stays as it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO

from context_search_cli.chapters import decoded, document_of, is_text, lengths_of
from context_search_cli.client import Response, encoded
from context_search_cli.command import Session
from context_search_cli.failures import CommandError, UsageError
from context_search_cli.waiting import wait_for

MAX_INLINE_BYTES = 6_000_000
"""Of a request, in which `"`, `\\` and line breaks count twice (Lambda carries it in a string)."""
DEFAULT_THRESHOLD = 10_000
"""The shortest string that a tool indexes unless it says otherwise, as docs/api.md has it."""
_INDEXED_SHARE = 0.9
_PIECE = 1 << 20
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Target:
    """What becomes of the document: a new table, or the content of one at a revision."""

    table_id: int | None = None
    revision: int | None = None
    name: str = ""
    description: str | None = None
    url_template: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A document in a file, which may be read more than once. Messages call it by its ``name``."""

    file: BinaryIO
    name: str
    size: int
    cost: int
    sha256: str
    is_jsonl: bool
    threshold: int = DEFAULT_THRESHOLD
    """With this one a tool indexes most of a text's chapters."""

    def pieces(self) -> Iterator[bytes]:
        """The bytes, from the beginning."""
        self.file.seek(0)
        while piece := self.file.read(_PIECE):
            yield piece

    def inline(self) -> bytes:
        """The document as it stands in a request: its own digits, JSON Lines as an array.

        Raises UsageError where it is none.
        """
        content = b"".join(self.pieces()).removeprefix(_BOM)
        if not self.is_jsonl:
            _check(content, self.name)
            return content
        lines: list[bytes] = []
        for number, line in enumerate(content.split(b"\n"), start=1):
            if line.strip():
                _check(line, self.name, number)
                lines.append(line)
        return b"[" + b",".join(lines) + b"]"

    def text(self) -> str:
        """The bytes as a text. Raises UsageError where they are none in UTF-8."""
        try:
            return b"".join(self.pieces()).decode()
        except UnicodeDecodeError as error:
            raise _no_utf_8(error, self.name, "text") from None

    def begins_as_lines(self) -> bool:
        """Whether it reads as JSON Lines: its first line is a value, and more follows."""
        self.file.seek(0)
        try:
            json.loads(self.file.readline().removeprefix(_BOM).decode())
        except (ValueError, RecursionError):
            return False
        return bool(self.file.read(_PIECE).strip())


def fitting_threshold(lengths: Iterable[int]) -> int:
    """Return the longest threshold, the default at most, with which 90 % of the text is indexed."""
    descending = sorted(filter(None, lengths), reverse=True)
    wanted = _INDEXED_SHARE * sum(descending)
    for length, indexed in zip(descending, accumulate(descending), strict=True):
        if indexed >= wanted:
            return min(length, DEFAULT_THRESHOLD)
    return DEFAULT_THRESHOLD


@contextmanager
def opened(path: str, *, is_jsonl: bool, takes_texts: bool = False) -> Iterator[Source]:
    """A file, or stdin for ``-``; where it takes texts, one as the document that it makes.

    Raises UsageError where it cannot be read.
    """
    with tempfile.TemporaryFile() as kept:
        try:
            if path == "-":
                _copy(sys.stdin.buffer, kept)
                yield measured(kept, "standard input", is_jsonl=is_jsonl)
                return
            with Path(path).open("rb") as file:
                if takes_texts and not is_jsonl and is_text(path):
                    name = os.fsencode(Path(path).name).decode(errors="replace")
                    document = document_of(name, decoded(file.read(), path))
                    kept.write(json.dumps(document, ensure_ascii=False).encode())
                    source = measured(kept, path, is_jsonl=False)
                    yield replace(source, threshold=fitting_threshold(lengths_of(document)))
                    return
                is_jsonl = is_jsonl or path.endswith((".jsonl", ".ndjson"))
                yield measured(file, path, is_jsonl=is_jsonl)
        except OSError as error:
            raise UsageError(f"{path or 'a file without a name'}: {error.strerror}") from None


def bring(
    session: Session, source: Source, target: Target, *, wait: bool, timeout_s: float
) -> Response | dict[str, Any]:
    """Makes or replaces a table. Returns the table, or the upload that goes on without ``wait``."""
    try:
        return _brought(session, source, target, wait=wait, timeout_s=timeout_s)
    except CommandError as failure:
        is_refused = failure.document.get("code") in {"USAGE", "INVALID_DOCUMENT"}
        if is_refused and not source.is_jsonl and source.begins_as_lines():
            failure.advise("one JSON value a line is JSON Lines: --jsonl")
        raise


def _brought(
    session: Session, source: Source, target: Target, *, wait: bool, timeout_s: float
) -> Response | dict[str, Any]:
    if source.cost <= MAX_INLINE_BYTES:
        return _send(session, source.inline(), target)
    session.out.note(f"{source.size:,} bytes: this goes by upload")
    if target.table_id is not None:
        upload = _upload(session, source, target.table_id, target.revision)
    else:
        table_id = int(_send(session, b"{}", target)["id"])
        try:
            upload = _upload(session, source, table_id, None)
        except (CommandError, KeyboardInterrupt):
            _take_back(session, table_id)
            raise
    if not wait:
        session.out.note("the import goes on by itself")
        going_on: dict[str, Any] = upload.body | {"id": upload["table_id"]}
        return going_on
    return _imported(session, upload, timeout_s, is_new=target.table_id is None)


def finished(session: Session, upload: Response, timeout_s: float) -> dict[str, Any]:
    """Waits for an upload that is being imported. Raises CommandError where it failed."""
    path = f"/api/v1/tables/{upload['table_id']}/uploads/{upload['upload_id']}"
    done = wait_for(
        session,
        lambda: session.client.get(path),
        is_over=lambda state: state["status"] not in {"pending", "importing"},
        reported=lambda state: f"upload {state['upload_id']} is {state['status']}",
        timeout_s=timeout_s,
    )
    if done["status"] == "failed":
        error = done["last_error"]
        raise CommandError(f"{error['code']}: {error['message']}", **error)
    found: dict[str, Any] = done.body
    return found


def _imported(
    session: Session, upload: Response, timeout_s: float, *, is_new: bool
) -> dict[str, Any]:
    try:
        finished(session, upload, timeout_s)
    except CommandError as error:
        if is_new and error.document.get("code") != "TIMEOUT":
            _take_back(session, int(upload["table_id"]))
        raise
    except KeyboardInterrupt:
        session.out.warn(f"the import into table {upload['table_id']} goes on by itself")
        raise
    table: dict[str, Any] = session.client.get(f"/api/v1/tables/{upload['table_id']}").body
    return table


def _send(session: Session, document: bytes, target: Target) -> Response:
    if target.table_id is not None:
        return session.client.request(
            "PUT",
            f"/api/v1/tables/{target.table_id}/data",
            content=document,
            headers={"If-Match": f'"{target.revision}"'},
        )
    head = {"project_id": session.project_id, "name": target.name}
    if target.description is not None:
        head["description"] = target.description
    if target.url_template is not None:
        head["url_template"] = target.url_template
    opening = encoded(head).removesuffix(b"}")
    return session.client.create(
        "/api/v1/tables", content=opening + b', "data": ' + document + b"}"
    )


def _upload(session: Session, source: Source, table_id: int, revision: int | None) -> Response:
    """Puts the document into the bucket and says so."""
    path = f"/api/v1/tables/{table_id}/uploads"
    begun = session.client.create(
        path,
        {
            "format": "jsonl" if source.is_jsonl else "json",
            "size": source.size,
            "sha256": source.sha256,
        },
        headers={} if revision is None else {"If-Match": f'"{revision}"'},
    )
    with session.out.progress("uploading") as report:

        def pieces() -> Iterator[bytes]:
            sent = 0
            for piece in source.pieces():
                yield piece
                sent += len(piece)
                report(f"uploading: {sent:,} of {source.size:,} bytes", sent / source.size)

        session.client.put_document(begun["url"], begun["headers"], source.size, pieces)
    return session.client.ask(f"{path}/{begun['upload_id']}/complete")


def _take_back(session: Session, table_id: int) -> None:
    """Deletes the table that was made for a document; never raises: the import's end is told."""
    try:
        session.client.delete(f"/api/v1/tables/{table_id}")
    except (CommandError, KeyboardInterrupt):
        session.out.warn(
            f"table {table_id} was made for it, is empty and could not be deleted:"
            f" context-search tables delete {table_id}"
        )
    else:
        session.out.note("the table that was made for it is deleted")


def measured(file: BinaryIO, name: str, *, is_jsonl: bool) -> Source:
    """A document with what its upload says of it."""
    size = cost = 0
    digest = hashlib.sha256()
    file.seek(0)
    while piece := file.read(_PIECE):
        size += len(piece)
        cost += len(piece) + sum(map(piece.count, (b'"', b"\\", b"\n")))
        digest.update(piece)
    return Source(file, name, size, cost, digest.hexdigest(), is_jsonl)


def _copy(source: BinaryIO, target: BinaryIO) -> None:
    while piece := source.read(_PIECE):
        target.write(piece)


def _check(content: bytes, name: str, first_line: int = 1) -> None:
    """Raises UsageError with the place where it is no JSON; ``first_line`` is its own number."""
    try:
        json.loads(content.decode())
    except json.JSONDecodeError as error:
        place = f"line {error.lineno + first_line - 1}, column {error.colno}"
        raise UsageError(f"{name}, {place}: this is no JSON: {error.msg}") from None
    except RecursionError:
        raise UsageError(f"{name}, line {first_line}: this is over 256 levels deep") from None
    except UnicodeDecodeError as error:
        raise _no_utf_8(error, name, "JSON", first_line) from None
    except ValueError:  # Python reads no longer ones
        raise UsageError(f"{name}: a number has over 4,300 digits") from None


def _no_utf_8(error: UnicodeDecodeError, name: str, what: str, first_line: int = 1) -> UsageError:
    before = error.object[: error.start].decode()
    line = before.count("\n") + first_line
    column = len(before) - before.rfind("\n")
    return UsageError(f"{name}, line {line}, column {column}: this is no {what} in UTF-8")
