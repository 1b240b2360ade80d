"""``context-search eval``: how well tools answer judged questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import typer

from context_search_cli import judging
from context_search_cli.client import Client, Response
from context_search_cli.command import Session, command, group
from context_search_cli.concurrent import concurrently
from context_search_cli.failures import Code, CommandError, EndedError, UsageError
from context_search_cli.judged import (
    DEPTH,
    POOLED,
    Place,
    Question,
    measured,
    place_of,
    questions_of,
    sets,
)
from context_search_cli.output import Output, counted, number
from context_search_cli.ranking import Draft, draft_of
from context_search_cli.reach import reaches

app = group("eval", "Measure tools on judged questions.")
for each in (judging.app, sets):
    app.add_typer(each)
Measure = Literal["recall@1", "recall@5", "recall@20", "ndcg@10", "mrr@10", "coverage@5"]
"""What the server measures."""
SIDES = ("base", "candidate")
"""What the server calls the configurations, in their order."""
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

    def ask(self, client: Client, question: str) -> tuple[list[Place], list[str]]:
        """Where the first hits stand, and by which codes the answer is less than was asked for."""
        body: dict[str, Any] = {"query": question, "top_k": DEPTH}
        path = f"/api/v1/tools/{self.tool}/search"
        if self.draft:
            path, body = f"{path}/explain", body | {"config": self.draft}
        answer = client.ask(path, body)
        places = [place_of(hit["chunk"]) for hit in answer["results"]]
        return places, answer["retrieval"]["degraded"]


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

    def heard(self, asked: Configuration, question: str) -> list[Place] | None:
        """Where the first hits stand, None where that stays unknown. Raises CommandError."""
        waited, pause = 0.0, FIRST_S
        while True:
            places, degraded = asked.ask(self.session.client, question)
            if not degraded:
                self.degraded_since.clear()
                return places
            reported = f"tool {asked.tool} answered degraded: {', '.join(degraded)}"
            will_last = bool(LASTING & set(degraded))
            if not will_last:
                self.degraded_since.add(question)
            if will_last or waited + pause > self.timeout_s:
                break
            self.session.out.note(f"{reported} — asking again in {pause:g} s")
            self.session.world.sleep(pause)
            waited += pause
            pause = min(2 * pause, LONGEST_S)
        is_alone = will_last or len(self.degraded_since) == 1
        if self.skips and is_alone:
            return None
        others = "" if is_alone else ", and so were all other questions since"
        option = "" if self.skips else ", --skip-degraded leaves a single question out"
        raise CommandError(
            f"not measured: {reported}{others}\n  the question: {question}\n"
            f"  context-search status {asked.tool} says what is missing; --timeout SECONDS asks"
            f" again for longer{option}",
            Code.UNAVAILABLE,
            code="NOT_MEASURED",
            query=question,
            degraded=degraded,
            retryable=not will_last,
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """What the server says of configurations, and the questions that no figure counts.

    ``hits`` are those of each question's first ``POOLED``, by configuration. ``cut_short`` says why
    the rest was not asked.
    """

    questions: list[str]
    hits: list[list[int]]
    reported: Response
    left_out: list[str]
    cut_short: CommandError | None

    def judged(self, place: int) -> dict[str, int]:
        """As JSON says how many hits of a configuration there are, and how many nobody judged."""
        ranks = (
            rank for each in self.reported["questions"] for rank in each[SIDES[place]]["not_judged"]
        )
        return {
            "hits": sum(each[place] for each in self.hits),
            "hits_not_judged": sum(rank <= POOLED for rank in ranks),
        }

    def document(self, *names: str) -> dict[str, Any]:
        """As JSON says it; ``names`` are those of the configurations."""
        rows = [
            {"query": query}
            | {name: each[side]["measures"] for name, side in zip(names, SIDES, strict=False)}
            for query, each in zip(self.questions, self.reported["questions"], strict=True)
        ]
        error = {"error": self.cut_short.reported} if self.cut_short else {}
        return {"by_question": rows, "not_measured": self.left_out, **error}

    def report(self, out: Output, *names: str) -> None:
        """Says on stderr how much the figures stand on. Raises what has cut them short."""
        for place, name in enumerate(names):
            hits, not_judged = self.judged(place).values()
            if not_judged:
                reported = f"{number(not_judged)} of {number(hits)} hits are not judged"
                out.note(f"{name}: {reported}, and count as wrong")
        if self.left_out:
            why = "not measured" if self.cut_short else "left out: answered degraded"
            out.warn(f"{counted(len(self.left_out), 'question')} {why}")
        questions = counted(len(self.questions), "question")
        out.note(f"{questions}; from and to: 95 % bootstrap interval")
        if self.cut_short:
            raise self.cut_short


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
    result = _measured(Patience(session, timeout, skip_degraded), questions, [asked])
    found = {name: each["interval"] for name, each in result.reported["measures"].items()}
    document = {
        "tool": tool,
        "draft": asked.draft or None,
        "questions": len(result.questions),
        "judged": reached.document | result.judged(0),
        "measures": found,
        **result.document("measures"),
    }

    def show() -> None:
        rows = [[name, f"{each['mean']:.3f}", *_ends(each, "")] for name, each in found.items()]
        session.out.rows(("measure", "mean", "from", "to"), rows, "")

    session.out.result(document, show)
    result.report(session.out, f"tool {tool}")


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
    result = _measured(Patience(session, timeout, skip_degraded), questions, pair)
    found = result.reported["measures"]
    said = found[measure]["verdict"]
    document = {
        "base": base,
        "candidate": pair[1].tool,
        "draft": pair[1].draft or None,
        "questions": len(result.questions),
        "measure": measure,
        "verdict": said,
        "judged": {
            side: reached[pair[place].tool].document | result.judged(place)
            for place, side in enumerate(SIDES)
        },
        "measures": {
            name: {side: each[side] for side in SIDES} | {"difference": each["interval"]}
            for name, each in found.items()
        },
        **result.document(*SIDES),
    }

    def show() -> None:
        columns = ("measure", *SIDES, "difference", "from", "to")
        session.out.rows(columns, [[name, *_cells(each)] for name, each in found.items()], "")
        session.out.line(f"candidate is {said} in {measure}")

    session.out.result(document, show)
    result.report(session.out, *SIDES)
    if said == "worse":
        raise EndedError(Code.FAILED)


def _measured(
    patience: Patience, questions: Sequence[Question], asked: Sequence[Configuration]
) -> Measured:
    """What each configuration scores; every question is asked of all in turn.

    What was answered before a failure is measured. Raises CommandError where that is nothing, or
    the server measures no more.
    """
    answers: dict[int, list[list[Place] | None]] = {}

    def ask(place: int) -> None:
        answers[place] = [patience.heard(one, questions[place].text) for one in asked]

    cut_short = None
    with patience.session.out.progress("asking") as report:
        try:
            concurrently(
                ask,
                range(len(questions)),
                reported=lambda done: report(
                    f"asked: {done} of {counted(len(questions), 'question')}", done / len(questions)
                ),
            )
        except CommandError as failure:
            cut_short = failure
    whole: dict[int, list[list[Place]]] = {}
    for place in sorted(answers):
        hits = [places for places in answers[place] if places is not None]
        if len(hits) == len(asked):
            whole[place] = hits
    if not whole:
        raise cut_short or CommandError(
            "not measured: every question was answered degraded",
            Code.UNAVAILABLE,
            code="NOT_MEASURED",
            retryable=True,
        )
    answered = [
        questions[place].answered(**dict(zip(SIDES, hits, strict=False)))
        for place, hits in whole.items()
    ]
    try:
        reported = measured(patience.session, answered)
    except CommandError as failure:
        raise cut_short or failure from None
    return Measured(
        [questions[place].text for place in whole],
        [[len(places[:POOLED]) for places in hits] for hits in whole.values()],
        reported,
        [each.text for place, each in enumerate(questions) if place not in whole],
        cut_short,
    )


def _cells(found: dict[str, Any]) -> list[str]:
    """As a row says one measure of two configurations."""
    difference = found["interval"]
    both = f"{found['base']:.3f}", f"{found['candidate']:.3f}"
    return [*both, f"{difference['mean']:+.3f}", *_ends(difference, "+")]


def _ends(found: dict[str, float], sign: str) -> tuple[str, str]:
    return f"{found['low']:{sign}.3f}", f"{found['high']:{sign}.3f}"
