"""Judged questions: as files have them, and as the project keeps them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from context_search_cli.client import Response
from context_search_cli.command import Session, Yes, command, confirmed, group
from context_search_cli.failures import ProblemError, UsageError
from context_search_cli.output import counted, number

sets = group("sets", "Judged sets that the project keeps.")
T = TypeVar("T")
POOLED = 10
"""Passages of a tool that are judged unless another depth is asked for."""
DEPTH = 20
"""How many passages of an answer are measured."""
MOST_QUESTIONS = 1_000
"""How many are measured in one run."""
MOST_RANGES = 20_000
"""How many judged ranges they may have in all."""
Place = dict[str, Any]
"""Where something stands, as requests have it: ``json_pointer``, ``char_start``, ``char_end``."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Of a judged set of the project.")]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and every range that answers it, maybe none; pointers are absolute.

    ``others`` were judged, too, and do not answer.
    """

    text: str
    gold: tuple[Place, ...]
    others: tuple[Place, ...] = ()

    def answered(self, **hits: list[Place]) -> dict[str, Any]:
        """Returns what a request for measures says of it: the hits of each configuration."""
        return {"relevant": self.gold, "others": self.others, **hits}


def measured(session: Session, answered: list[dict[str, Any]]) -> Response:
    """Returns the measures of answered questions, and of each one. Raises CommandError.

    The server only compares pointers: a number stands for each, so that the request stays small.
    """
    numbers: dict[str, str] = {}

    def numbered(place: Place) -> Place:
        number = numbers.setdefault(place["json_pointer"], str(len(numbers)))
        return place | {"json_pointer": number}

    questions = [{name: [*map(numbered, each[name])] for name in each} for each in answered]
    return session.client.ask(f"{session.project}/measures", {"questions": questions})


def place_of(row: dict[str, Any]) -> Place:
    """Returns where a hit or a judged range stands."""
    return {name: row[name] for name in ("json_pointer", "char_start", "char_end")}


@command(sets, "list")
def list_(session: Session) -> None:
    """List the judged sets of the project."""
    found = session.client.get(f"{session.project}/judged-sets")
    columns = ("name", "questions", "bytes", "updated_at")

    def show() -> None:
        rows = [[row[name] for name in columns] for row in found["judged_sets"]]
        session.out.rows(columns, rows, "no judged set yet: context-search eval sets put")

    session.out.result(found, show)


@command(sets, "get")
def get(session: Session, *, name: Name) -> None:
    """Print the questions of a judged set as JSON Lines."""
    found = session.client.get(_path(session, name))
    session.out.result(found, lambda: session.out.raw_json(found["lines"]))


@command(sets, "put")
def put(
    session: Session,
    *,
    name: Name,
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSON Lines, or - for stdin.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Also where there is a set of this name.")
    ] = False,
) -> None:
    """Keep judged questions with the project."""
    lines = read_text(file)
    try:
        kept = session.client.request(
            "PUT",
            _path(session, name),
            {"lines": lines},
            headers={} if replace else {"If-Match": '"0"'},
            # Written twice it is the same; after a lost reply "only if there is none" is refused.
            is_safe=replace,
        )
    except ProblemError as refused:
        if refused.status == 409 and not replace:
            refused.advise(f"there is a set {name}: --replace writes this one in its place")
        raise
    reported = f"{name} has {counted(kept['questions'], 'question')}"
    session.out.result(kept, lambda: session.out.made(name, reported))


@command(sets, "delete")
def delete(session: Session, *, name: Name, yes: Yes = False) -> None:
    """Delete a judged set."""
    path = _path(session, name)
    confirmed(session, f"Delete the judged set {name}?", yes=yes)
    session.client.delete(path)
    session.out.result({"deleted": name}, lambda: session.out.made(name, f"{name} is deleted"))


def read_text(file: str) -> str:
    """A file's text, or stdin's for ``-``. Raises UsageError."""
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return content.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is no UTF-8") from None


def questions_of(session: Session, source: str) -> list[Question]:
    """Judged questions of a file, or of a set of the project where no file has this name.

    Raises UsageError with the number of a line that is of another shape.
    """
    if source == "-" or Path(source).exists() or not _NAME.fullmatch(source):
        lines = read_text(source)
    else:
        lines = session.client.get(_path(session, source))["lines"]
        session.out.note(f"{source} as the project keeps it")
    read = parsed_lines(lines, source, question_of)
    questions = [each for each in read if each.gold]
    if not questions:
        raise UsageError(f"{source} has no question with a range that answers it")
    if len(questions) > MOST_QUESTIONS:
        most = f"{number(MOST_QUESTIONS)} are measured in one run"
        raise UsageError(f"{source} has {number(len(questions))} questions: at most {most}")
    ranges = sum(len(each.gold) + len(each.others) for each in questions)
    if ranges > MOST_RANGES:
        most = f"{number(MOST_RANGES)} are measured in one run"
        raise UsageError(f"{source} has {number(ranges)} judged ranges: at most {most}")
    if len(questions) < len(read):
        left = counted(len(read) - len(questions), "question")
        session.out.note(f"{left} without a range that answers: left out")
    return questions


def parsed_lines(text: str, source: str, parse: Callable[[str], T]) -> list[T]:
    """What ``parse`` makes of each line that is not blank. Raises UsageError for its ValueError."""
    found: list[T] = []
    # Not splitlines(): JSON may hold U+2028 and its like as they are.
    for at, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                found.append(parse(line))
            except (ValueError, RecursionError) as error:
                raise UsageError(f"{source}, line {at}: {error}") from None
    return found


def object_of(line: str) -> dict[str, Any]:
    """A JSON object. Raises ValueError."""
    row = json.loads(line)
    if not isinstance(row, dict):
        raise ValueError("no JSON object")
    return row


def query_of(row: dict[str, Any]) -> str:
    """What a line asks. Raises ValueError."""
    query = row.get("query")
    if not isinstance(query, str) or not query.strip():
        raise ValueError("query must be a text")
    return query


def question_of(line: str) -> Question:
    """A question with its judgments. Raises ValueError."""
    try:
        row = object_of(line)
    except json.JSONDecodeError:
        raise ValueError(
            "no JSON object with query and relevant; context-search eval judge makes judged"
            " questions of plain ones"
        ) from None
    return Question(
        query_of(row), _places(row, "relevant"), _places({"others": []} | row, "others")
    )


def _places(row: dict[str, Any], name: str) -> tuple[Place, ...]:
    ranges = row.get(name)
    if not isinstance(ranges, list):
        raise ValueError(f"{name} must be an array of ranges")
    return tuple(map(_place, ranges))


def _place(row: object) -> Place:
    if not isinstance(row, dict) or not isinstance(row.get("json_pointer"), str):
        raise ValueError("json_pointer must be a text")
    start, end = row.get("char_start"), row.get("char_end")
    if type(start) is not int or type(end) is not int or not 0 <= start < end:
        raise ValueError(f"char_start {start!r}, char_end {end!r} are no range of characters")
    return place_of(row)


def _path(session: Session, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r}: a name has up to 64 letters, digits, dots, _ and -")
    return f"{session.project}/judged-sets/{name}"
