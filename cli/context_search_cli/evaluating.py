"""``context-search eval``: how well tools answer judged questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from context_search_cli import judging
from context_search_cli.abreast import abreast
from context_search_cli.client import Client
from context_search_cli.command import Session, command, group
from context_search_cli.failures import Code, CommandError, EndedError, UsageError
from context_search_cli.judged import Question, questions_of, sets
from context_search_cli.measures import DEPTH, MEASURES, Interval, Span, interval, score
from context_search_cli.output import counted
from context_search_cli.ranking import Draft, draft_of

app = group("eval", "Measure tools on judged questions.")
for each in (judging.app, sets):
    app.add_typer(each)
Measure = Literal["recall@1", "recall@5", "recall@20", "ndcg@10", "mrr@10", "coverage@5"]
"""The names of ``MEASURES``, as Typer needs them."""
Measures = dict[str, list[float]]
"""One value a question, by measure."""
Source = Annotated[
    str,
    typer.Argument(
        metavar="SET", help="A file of JSON Lines, - for stdin, or a judged set of the project."
    ),
]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A tool, with its own ranking or a draft."""

    tool: int
    draft: dict[str, object]

    def ask(self, client: Client, question: str) -> list[Span]:
        """Where the first hits stand. Raises CommandError where they would say nothing."""
        body: dict[str, Any] = {"query": question, "top_k": DEPTH}
        path = f"/api/v1/tools/{self.tool}/search"
        if self.draft:
            path, body = f"{path}/explain", body | {"config": self.draft}
        answer = client.ask(path, body)
        if degraded := answer["retrieval"]["degraded"]:
            raise CommandError(
                f"not measured: tool {self.tool} answered degraded: {', '.join(degraded)}",
                Code.UNAVAILABLE,
                code="NOT_MEASURED",
                retryable=True,
            )
        chunks = [hit["chunk"] for hit in answer["results"]]
        return [Span(c["json_pointer"], c["char_start"], c["char_end"]) for c in chunks]


@dataclass(frozen=True, slots=True)
class Compared:
    """Two configurations in one measure."""

    base: float
    candidate: float
    difference: Interval

    @classmethod
    def of(cls, before: Sequence[float], after: Sequence[float]) -> Compared:
        """What one value a question says of each, question by question."""
        differences = [new - old for old, new in zip(before, after, strict=True)]
        return cls(_mean(before), _mean(after), interval(differences))

    @property
    def document(self) -> dict[str, Any]:
        """As JSON says it."""
        difference = _document(self.difference)
        return {"base": self.base, "candidate": self.candidate, "difference": difference}

    @property
    def cells(self) -> list[str]:
        """As a row says it."""
        both = f"{self.base:.3f}", f"{self.candidate:.3f}"
        return [*both, f"{self.difference.mean:+.3f}", *_ends(self.difference, "+")]


@command(app, "run")
def run(
    session: Session,
    *,
    source: Source,
    tool: Annotated[int, typer.Option("--tool", min=1, help="Who answers.")],
    draft: Draft = None,
) -> None:
    """Measure a tool on judged questions."""
    asked = Configuration(tool, draft_of(draft))
    questions = questions_of(session, source)
    [values] = _measured(session, questions, [asked])
    found = {name: interval(values[name]) for name in MEASURES}
    document = {
        "tool": tool,
        "draft": asked.draft or None,
        "questions": len(questions),
        "measures": {name: _document(each) for name, each in found.items()},
    }

    def show() -> None:
        rows = [[name, f"{each.mean:.3f}", *_ends(each, "")] for name, each in found.items()]
        session.out.rows(("measure", "mean", "from", "to"), rows, "")

    session.out.result(document, show)
    session.out.note(f"{counted(len(questions), 'question')}; from and to: 95 % bootstrap interval")


@command(app, "compare")
def compare(
    session: Session,
    *,
    queries: Annotated[
        str,
        typer.Option(metavar="SET", help="A file, - for stdin, or a judged set of the project."),
    ],
    base: Annotated[int, typer.Option(min=1, help="The tool as it is.")],
    candidate: Annotated[
        int | None, typer.Option(min=1, help="Another tool; else the base with --draft.")
    ] = None,
    draft: Draft = None,
    measure: Annotated[Measure, typer.Option(help="What decides.")] = "ndcg@10",
) -> None:
    """Compare two tools, or a tool with a draft of its ranking. Exit code 1: it is worse."""
    if candidate is None and not draft:
        raise UsageError("with whom? --candidate TOOL, or --draft KEY=VALUE")
    pair = [Configuration(base, {}), Configuration(candidate or base, draft_of(draft))]
    questions = questions_of(session, queries)
    before, after = _measured(session, questions, pair)
    found = {name: Compared.of(before[name], after[name]) for name in MEASURES}
    is_worse = found[measure].difference.high < 0
    verdict = "worse" if is_worse else "not worse"
    document = {
        "base": base,
        "candidate": pair[1].tool,
        "draft": pair[1].draft or None,
        "questions": len(questions),
        "measure": measure,
        "verdict": verdict,
        "measures": {name: each.document for name, each in found.items()},
    }

    def show() -> None:
        columns = ("measure", "base", "candidate", "difference", "from", "to")
        session.out.rows(columns, [[name, *each.cells] for name, each in found.items()], "")
        session.out.line(f"candidate is {verdict} in {measure}")

    session.out.result(document, show)
    session.out.note(f"{counted(len(questions), 'question')}; from and to: 95 % bootstrap interval")
    if is_worse:
        raise EndedError(Code.FAILED)


def _measured(
    session: Session, questions: Sequence[Question], asked: Sequence[Configuration]
) -> list[Measures]:
    """Each configuration's values, one a question; every question is asked of all in turn."""
    client = session.client
    with session.out.progress("asking") as tell:
        answers = abreast(
            lambda question: [one.ask(client, question.text) for one in asked],
            questions,
            told=lambda done: tell(
                f"asked: {done} of {counted(len(questions), 'question')}", done / len(questions)
            ),
        )
    scored = [
        [score(question.gold, spans) for spans in found]
        for question, found in zip(questions, answers, strict=True)
    ]
    return [
        {name: [scores[place][name] for scores in scored] for name in MEASURES}
        for place in range(len(asked))
    ]


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 6)


def _document(found: Interval) -> dict[str, float]:
    named = {"mean": found.mean, "low": found.low, "high": found.high}
    return {name: round(value, 6) for name, value in named.items()}


def _ends(found: Interval, sign: str) -> tuple[str, str]:
    return f"{found.low:{sign}.3f}", f"{found.high:{sign}.3f}"
