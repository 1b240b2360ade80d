"""``context-search eval judge``: a person says which passages answer a question, and how well.

Blind: the first passages of all tools are pooled and shuffled, and neither a tool nor a score is
shown. What is judged is a range of the string, so that it outlives another chunking.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from context_search_cli.command import Session, command, writable
from context_search_cli.failures import UsageError
from context_search_cli.judged import (
    DEPTH,
    POOLED,
    Place,
    Question,
    measured,
    object_of,
    parsed_lines,
    query_of,
    question_of,
    read_text,
)
from context_search_cli.output import counted

app = typer.Typer()
RELEVANT = 2
"""The least grade of a range that answers; below it a range is kept among ``others``."""
GRADES = "0 nothing, 1 mentions it, 2 answers, 3 answers exactly"
_HELP = (
    f"{GRADES}; after 2 or 3 the words that answer, if not all do;"
    " s: skip the question, q: stop here"
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a string that is to be judged."""

    pointer: str
    start: int
    end: int
    text: str

    @property
    def place(self) -> Place:
        """Where it stands."""
        return {"json_pointer": self.pointer, "char_start": self.start, "char_end": self.end}

    def judged(self, grade: int, words: str) -> dict[str, Any]:
        """The range of the words, of the whole passage without any. Raises ValueError."""
        start, end = self.start, self.end
        if words:
            # A terminal shows line breaks where the text has none, and the other way round.
            found = re.search(r"\s+".join(map(re.escape, words.split())), self.text)
            if not found:
                raise ValueError("the passage does not have these words")
            start, end = self.start + found.start(), self.start + found.end()
        return {"json_pointer": self.pointer, "char_start": start, "char_end": end, "grade": grade}


class StoppedError(Exception):
    """The judge has had enough, or has nothing to say to this question."""

    def __init__(self, *, is_all: bool) -> None:
        self.is_all = is_all


@command(app, "judge")
def judge(
    session: Session,
    *,
    questions: Annotated[
        str, typer.Argument(metavar="QUESTIONS", help="A file: a question a line, or JSON Lines.")
    ],
    tool: Annotated[list[int], typer.Option("--tool", min=1, help="Who answers; repeat.")],
    output: Annotated[
        Path,
        typer.Option(
            *("--output", "-o"),
            metavar="FILE",
            callback=writable,
            help="Judged questions go behind it.",
        ),
    ],
    depth: Annotated[int, typer.Option(min=1, max=20, help="Passages of each tool.")] = POOLED,
    new_passages: Annotated[
        bool,
        typer.Option("--new-passages", help="Of judged questions, too, what is not judged yet."),
    ] = False,
) -> None:
    """Judge pooled passages blind, 0 to 3; what is in the output already is not asked again."""
    if questions == "-":
        raise UsageError("stdin is where the grades come from: name a file")
    texts = list(dict.fromkeys(parsed_lines(read_text(questions), questions, _text)))
    known = _known(output)
    left = texts if new_passages else [text for text in texts if text not in known]
    judged = without = 0
    session.out.note(f"{len(left)} of {counted(len(texts), 'question')} left. {_HELP}")
    for place, text in enumerate(left, start=1):
        passages = _pool(session, text, tool, depth)
        if text in known:
            passages = _not_judged(session, known[text], passages)
            if not passages:
                continue
        try:
            ranges = _judged(session, text, passages, place, len(left))
        except StoppedError as stopped:
            if stopped.is_all:
                break
            continue
        judged += 1
        without += not _keep(output, text, ranges, is_known=text in known)
    where = str(output) if judged else "nothing is written"
    session.out.result(
        {"judged": judged, "without_answer": without, "file": where if judged else None},
        lambda: session.out.line(f"{counted(judged, 'question')} judged: {where}"),
    )
    if without:
        session.out.note(
            f"{counted(without, 'question')} that no passage answers: no measure counts it"
        )


def _text(line: str) -> str:
    stripped = line.strip()
    return query_of(object_of(stripped)) if stripped.startswith("{") else stripped


def _pool(session: Session, text: str, tools: list[int], depth: int) -> list[Passage]:
    found: dict[tuple[str, int, int], Passage] = {}
    for tool in tools:
        answer = session.client.ask(f"/api/v1/tools/{tool}/search", {"query": text, "top_k": depth})
        for chunk in (hit["chunk"] for hit in answer["results"]):
            place = chunk["json_pointer"], chunk["char_start"], chunk["char_end"]
            found[place] = Passage(*place, chunk["chunk_text"])
    passages = list(found.values())
    random.Random(text).shuffle(passages)  # noqa: S311 - the order tells nothing, no more
    return passages


def _not_judged(session: Session, known: Question, passages: list[Passage]) -> list[Passage]:
    parts = [passages[at : at + DEPTH] for at in range(0, len(passages), DEPTH)]
    answered = [known.answered(base=[each.place for each in part]) for part in parts]
    reported = measured(session, answered)["questions"] if answered else []
    return [
        part[rank - 1]
        for part, each in zip(parts, reported, strict=True)
        for rank in each["base"]["not_judged"]
    ]


def _judged(
    session: Session, text: str, passages: list[Passage], place: int, of: int
) -> list[dict[str, Any]]:
    """Every range with its grade. Raises StoppedError."""
    ranges: dict[tuple[str, int, int], dict[str, Any]] = {}
    for number, passage in enumerate(passages, start=1):
        session.out.shown(f"\n{text}", style="bold")
        head = f"question {place} of {of}, passage {number} of {len(passages)}: {passage.pointer}"
        session.out.shown(head, style="dim")
        session.out.shown(passage.text.strip("\n"))
        found = _graded(session, passage)
        ranges[found["json_pointer"], found["char_start"], found["char_end"]] = found
    return list(ranges.values())


def _graded(session: Session, passage: Passage) -> dict[str, Any]:
    while True:
        said = session.out.asked("0 1 2 3 s q: ")
        if said is None or said == "q":
            raise StoppedError(is_all=True)
        if said == "s":
            raise StoppedError(is_all=False)
        grade, _, words = said.partition(" ")
        if grade in {"0", "1", "2", "3"}:
            try:
                return passage.judged(int(grade), words)
            except ValueError as error:
                session.out.warn(str(error))
        else:
            session.out.warn(_HELP)


def _known(output: Path) -> dict[str, Question]:
    """What is judged already. Raises UsageError for a file of another form."""
    lines = read_text(str(output)) if output.exists() else ""
    found: dict[str, Question] = {}
    for each in parsed_lines(lines, str(output), question_of):
        before = found.get(each.text, Question(each.text, ()))
        found[each.text] = Question(each.text, before.gold + each.gold, before.others + each.others)
    return found


def _keep(output: Path, text: str, ranges: list[dict[str, Any]], *, is_known: bool) -> bool:
    """Writes a question behind the others, or its ranges to those that it has.

    Says whether the question has an answer now. Raises UsageError.
    """
    row: dict[str, Any] = {"query": text, "relevant": []}
    lines: list[str] = []
    place = 0
    if is_known:
        lines = read_text(str(output)).split("\n")
        place = next(at for at, line in enumerate(lines) if line.strip() and _text(line) == text)
        row = object_of(lines[place])
    row["relevant"] += [each for each in ranges if each["grade"] >= RELEVANT]
    if others := [each for each in ranges if each["grade"] < RELEVANT]:
        row["others"] = row.get("others", []) + others
    line = json.dumps(row, ensure_ascii=False)
    try:
        if is_known:
            _replace(output, "\n".join([*lines[:place], line, *lines[place + 1 :]]))
        else:
            _append(output, line)
    except OSError as error:
        raise UsageError(f"{output}: {error.strerror}") from None
    return bool(row["relevant"])


def _append(path: Path, line: str) -> None:
    before = path.read_bytes() if path.exists() else b""
    start = "\n" if before and not before.endswith(b"\n") else ""
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{start}{line}\n")


def _replace(path: Path, text: str) -> None:
    """Writes all of a file or nothing: what was judged by hand is not made twice."""
    draft = path.with_name(f".{path.name}.new")
    try:
        draft.write_text(text, encoding="utf-8")
        shutil.copymode(path, draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
