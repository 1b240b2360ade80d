"""``context-search eval``: how well tools answer judged questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import typer

from context_search_cli import judging
from context_search_cli.client import Client
from context_search_cli.command import Session, command, group
from context_search_cli.concurrent import abreast
from context_search_cli.failures import Code, CommandError, EndedError, UsageError
from context_search_cli.judged import POOLED, Question, questions_of, sets
from context_search_cli.measures import (
    DEPTH,
    MEASURES,
    Interval,
    Span,
    interval,
    score,
    verdict,
)
from context_search_cli.output import Output, counted, number
from context_search_cli.ranking import Draft, draft_of
from context_search_cli.reach import Reach, reaches

app = group("eval", "Measure tools on judged questions.")
for each in (judging.app, sets):
    app.add_typer(each)
Measure = Literal["recall@1", "recall@5", "recall@20", "ndcg@10", "mrr@10", "coverage@5"]
"""The names of ``MEASURES``, as Typer needs them."""
Measures = dict[str, list[float]]
"""One value a question, by measure."""
FIRST_S = 1.0
LONGEST_S = 8.0
"""Pauses before a question that was answered degraded is asked again."""
LASTING = {"query_cut"}
"""By which codes the same question is answered degraded for ever."""
Source = Annotated[
    str,
    typer.Argument(
        metavar="SET", help="A file of JSON Lines, - for stdin, or a judged set of the project."
    ),
]
AskedAgain = Annotated[
    float,
    typer.Option(
        "--timeout",
        min=0,
        help="Seconds to ask again what is answered degraded. An outage ends the run then.",
    ),
]
SkipDegraded = Annotated[
    bool,
    typer.Option(
        "--skip-degraded", help="Leave out what alone stays degraded, instead of ending the run."
    ),
]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A tool, with its own ranking or a draft."""

    tool: int
    draft: dict[str, object]

    def ask(self, client: Client, question: str) -> tuple[list[Span], list[str]]:
        """Where the first hits stand, and by which codes the answer is less than was asked for."""
        body: dict[str, Any] = {"query": question, "top_k": DEPTH}
        path = f"/api/v1/tools/{self.tool}/search"
        if self.draft:
            path, body = f"{path}/explain", body | {"config": self.draft}
        answer = client.ask(path, body)
        chunks = [hit["chunk"] for hit in answer["results"]]
        spans = [Span(c["json_pointer"], c["char_start"], c["char_end"]) for c in chunks]
        return spans, answer["retrieval"]["degraded"]


@dataclass(frozen=True, slots=True)
class Patience:
    """What becomes of questions that are answered degraded: asked again, then left out or fatal.

    Where several are, and none was answered whole since, that is an outage: it ends the run also
    where single questions are left out, or each of them would be waited for.
    """

    session: Session
    timeout_s: float
    skips: bool
    degraded_since: set[str] = field(default_factory=set)
    """The questions that were answered degraded since the last whole answer."""

    def heard(self, asked: Configuration, question: str) -> list[Span] | None:
        """Where the first hits stand, None where that stays unknown. Raises CommandError."""
        waited, pause = 0.0, FIRST_S
        while True:
            spans, degraded = asked.ask(self.session.client, question)
            if not degraded:
                self.degraded_since.clear()
                return spans
            told = f"tool {asked.tool} answered degraded: {', '.join(degraded)}"
            will_last = bool(LASTING & set(degraded))
            if not will_last:
                self.degraded_since.add(question)
            if will_last or waited + pause > self.timeout_s:
                break
            self.session.out.note(f"{told} — asking again in {pause:g} s")
            self.session.world.sleep(pause)
            waited += pause
            pause = min(2 * pause, LONGEST_S)
        is_alone = will_last or len(self.degraded_since) == 1
        if self.skips and is_alone:
            return None
        others = "" if is_alone else ", and so were all other questions since"
        option = "" if self.skips else ", --skip-degraded leaves a single question out"
        raise CommandError(
            f"not measured: {told}{others}\n  the question: {question}\n"
            f"  context-search status {asked.tool} says what is missing; --timeout SECONDS asks"
            f" again for longer{option}",
            Code.UNAVAILABLE,
            code="NOT_MEASURED",
            query=question,
            degraded=degraded,
            retryable=not will_last,
        )


@dataclass(frozen=True, slots=True)
class Hits:
    """Of so many first hits, those that nobody has judged: they count as wrong."""

    count: int
    not_judged: int

    @classmethod
    def of(cls, question: Question, found: Sequence[Span]) -> Hits:
        """The hits of an answer that most measures look at, and ``eval judge`` asks for."""
        first = found[:POOLED]
        return cls(len(first), sum(not question.has_judged(each) for each in first))


@dataclass(frozen=True, slots=True)
class Measured:
    """What configurations score, question by question, and the questions that no figure counts.

    ``cut_short`` says why the rest was not asked.
    """

    questions: list[str]
    scores: list[tuple[dict[str, float], ...]]
    hits: list[tuple[Hits, ...]]
    left_out: list[str]
    cut_short: CommandError | None = None

    def values(self, place: int) -> Measures:
        """The values of one configuration."""
        return {name: [each[place][name] for each in self.scores] for name in MEASURES}

    def hits_of(self, place: int) -> Hits:
        """The hits of one configuration."""
        answers = [each[place] for each in self.hits]
        return Hits(sum(each.count for each in answers), sum(each.not_judged for each in answers))

    def judged(self, place: int, reach: Reach) -> dict[str, Any]:
        """As JSON says what the figures of one configuration stand on."""
        hits = self.hits_of(place)
        return reach.document | {"hits": hits.count, "hits_not_judged": hits.not_judged}

    def document(self, *names: str) -> dict[str, Any]:
        """As JSON says it; ``names`` are those of the configurations."""
        rows = [
            {"query": query} | dict(zip(names, map(_rounded, scores), strict=True))
            for query, scores in zip(self.questions, self.scores, strict=True)
        ]
        error = {"error": self.cut_short.told} if self.cut_short else {}
        return {"by_question": rows, "not_measured": self.left_out, **error}

    def tell(self, out: Output, *names: str) -> None:
        """Says on stderr how much the figures stand on. Raises what has cut them short."""
        for place, name in enumerate(names):
            hits = self.hits_of(place)
            if hits.not_judged:
                told = f"{number(hits.not_judged)} of {number(hits.count)} hits are not judged"
                out.note(f"{name}: {told}, and count as wrong")
        if self.left_out:
            why = "not measured" if self.cut_short else "left out: answered degraded"
            out.warn(f"{counted(len(self.left_out), 'question')} {why}")
        questions = counted(len(self.questions), "question")
        out.note(f"{questions}; from and to: 95 % bootstrap interval")
        if self.cut_short:
            raise self.cut_short


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
    timeout: AskedAgain = 60,
    skip_degraded: SkipDegraded = False,
) -> None:
    """Measure a tool on judged questions."""
    asked = Configuration(tool, draft_of(draft))
    questions = questions_of(session, source)
    reached = reaches(session, questions, [tool])[tool]
    measured = _measured(Patience(session, timeout, skip_degraded), questions, [asked])
    found = {name: interval(values) for name, values in measured.values(0).items()}
    document = {
        "tool": tool,
        "draft": asked.draft or None,
        "questions": len(measured.questions),
        "judged": measured.judged(0, reached),
        "measures": {name: _document(each) for name, each in found.items()},
        **measured.document("measures"),
    }

    def show() -> None:
        rows = [[name, f"{each.mean:.3f}", *_ends(each, "")] for name, each in found.items()]
        session.out.rows(("measure", "mean", "from", "to"), rows, "")

    session.out.result(document, show)
    measured.tell(session.out, f"tool {tool}")


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
    timeout: AskedAgain = 60,
    skip_degraded: SkipDegraded = False,
) -> None:
    """Compare two tools, or a tool with a draft of its ranking. Exit code 1: it is worse."""
    if candidate is None and not draft:
        raise UsageError("with whom? --candidate TOOL, or --draft KEY=VALUE")
    pair = [Configuration(base, {}), Configuration(candidate or base, draft_of(draft))]
    questions = questions_of(session, queries)
    reached = reaches(session, questions, [each.tool for each in pair])
    measured = _measured(Patience(session, timeout, skip_degraded), questions, pair)
    before, after = measured.values(0), measured.values(1)
    found = {name: Compared.of(before[name], after[name]) for name in MEASURES}
    said = verdict(found[measure].difference)
    document = {
        "base": base,
        "candidate": pair[1].tool,
        "draft": pair[1].draft or None,
        "questions": len(measured.questions),
        "measure": measure,
        "verdict": said,
        "judged": {
            name: measured.judged(place, reached[pair[place].tool])
            for place, name in enumerate(("base", "candidate"))
        },
        "measures": {name: each.document for name, each in found.items()},
        **measured.document("base", "candidate"),
    }

    def show() -> None:
        columns = ("measure", "base", "candidate", "difference", "from", "to")
        session.out.rows(columns, [[name, *each.cells] for name, each in found.items()], "")
        session.out.line(f"candidate is {said} in {measure}")

    session.out.result(document, show)
    measured.tell(session.out, "base", "candidate")
    if said == "worse":
        raise EndedError(Code.FAILED)


def _measured(
    patience: Patience, questions: Sequence[Question], asked: Sequence[Configuration]
) -> Measured:
    """Each configuration's scores; every question is asked of all in turn.

    What was measured before a failure is kept. Raises CommandError where that is nothing.
    """
    answers: dict[int, list[list[Span] | None]] = {}

    def ask(place: int) -> None:
        answers[place] = [patience.heard(one, questions[place].text) for one in asked]

    cut_short = None
    with patience.session.out.progress("asking") as tell:
        try:
            abreast(
                ask,
                range(len(questions)),
                told=lambda done: tell(
                    f"asked: {done} of {counted(len(questions), 'question')}", done / len(questions)
                ),
            )
        except CommandError as failure:
            cut_short = failure
    measured = Measured([], [], [], [], cut_short)
    for place, question in enumerate(questions):
        whole = [spans for spans in answers.get(place, []) if spans is not None]
        if len(whole) < len(asked):
            measured.left_out.append(question.text)
            continue
        measured.questions.append(question.text)
        measured.scores.append(tuple(score(question.gold, spans) for spans in whole))
        measured.hits.append(tuple(Hits.of(question, spans) for spans in whole))
    if not measured.questions:
        raise cut_short or CommandError(
            "not measured: every question was answered degraded",
            Code.UNAVAILABLE,
            code="NOT_MEASURED",
            retryable=True,
        )
    return measured


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 6)


def _document(found: Interval) -> dict[str, float]:
    return _rounded({"mean": found.mean, "low": found.low, "high": found.high})


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 6) for name, value in values.items()}


def _ends(found: Interval, sign: str) -> tuple[str, str]:
    return f"{found.low:{sign}.3f}", f"{found.high:{sign}.3f}"
