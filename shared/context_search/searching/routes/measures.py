"""Measures of answers to judged questions: bodies, answers, the route. Nothing is kept."""

from __future__ import annotations

from typing import Annotated, Self

from fastapi import APIRouter
from pydantic import Field, JsonValue, model_validator

from context_search.ranking.measures import (
    DEPTH,
    Comparison,
    Interval,
    Measure,
    TextRange,
    Verdict,
    compared,
    is_judged,
    means,
    score,
)
from context_search.web.callers import ReadOwner
from context_search.web.fields import (
    MAX_POINTER,
    Absent,
    AnswerModel,
    Body,
    Count,
    LeftOut,
    NotNull,
    Number,
    Share,
    example,
)
from context_search.web.problems import refused
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(
    prefix="/api/v1/projects/{project_id}", route_class=StrictJsonRoute, tags=["evaluation"]
)

MAX_QUESTIONS = 1_000
MAX_RANGES = 20_000
"""Judged ranges of all questions: about as many as fit into a stored set."""
_RANGE: JsonValue = {"json_pointer": "/articles/0/content", "char_start": 14223, "char_end": 15214}
_HIT: JsonValue = {"json_pointer": "/articles/0/content", "char_start": 13900, "char_end": 14900}


class RangeBody(Body):
    """Where something stands: code points of a string, the end exclusive."""

    model_config = example(json_pointer="/articles/0/content", char_start=14223, char_end=15214)
    json_pointer: Annotated[str, Field(max_length=MAX_POINTER)]
    char_start: Annotated[int, Field(ge=0, le=2**63 - 1)]
    char_end: Annotated[int, Field(ge=0, le=2**63 - 1)]

    @model_validator(mode="after")
    def _is_not_empty(self) -> Self:
        if self.char_start >= self.char_end:
            raise ValueError("char_end must be greater than char_start")
        return self

    def span(self) -> TextRange:
        """Returns the range as measures know it."""
        return TextRange(self.json_pointer, self.char_start, self.char_end)


Judged = list[RangeBody]
Hits = Annotated[list[RangeBody], Field(max_length=DEPTH)]


class AnsweredBody(Body):
    """A judged question, and where the hits of its answers stand, the best first."""

    model_config = example(relevant=[_RANGE], base=[_HIT])
    relevant: Judged
    others: Annotated[Judged, Field(default_factory=list)]
    base: Hits
    candidate: Annotated[Hits | LeftOut, NotNull] = None


class MeasuresBody(Body):
    """``POST …/measures``: judged questions with the answers of one configuration, or of two."""

    model_config = example(questions=[{"relevant": [_RANGE], "base": [_HIT]}])
    questions: Annotated[list[AnsweredBody], Field(min_length=1, max_length=MAX_QUESTIONS)]

    @model_validator(mode="after")
    def _is_of_one_kind_and_bounded(self) -> Self:
        if len({each.candidate is None for each in self.questions}) > 1:
            raise ValueError("candidate must be in every question or in none")
        if sum(len(each.relevant) + len(each.others) for each in self.questions) > MAX_RANGES:
            raise ValueError(f"the questions should have at most {MAX_RANGES} judged ranges in all")
        return self


class IntervalAnswer(AnswerModel):
    """A mean with its 95 % bootstrap interval."""

    mean: Number
    low: Number
    high: Number

    @classmethod
    def of(cls, found: Interval) -> IntervalAnswer:
        """Returns it with six digits."""
        mean, low, high = map(_short, (found.mean, found.low, found.high))
        return cls(mean=mean, low=low, high=high)


class MeasureAnswer(AnswerModel):
    """One measure over all questions that have a range which answers.

    ``interval`` is that of the base. With a candidate it is that of the paired difference,
    candidate less base; the verdict is ``worse`` or ``better`` where all of it is beside zero.
    """

    base: Share
    candidate: Absent[Share] = None
    interval: IntervalAnswer
    verdict: Absent[Verdict] = None

    @classmethod
    def of_one(cls, found: Interval) -> MeasureAnswer:
        """Returns the measure of one configuration."""
        return cls(base=_short(found.mean), interval=IntervalAnswer.of(found))

    @classmethod
    def of_two(cls, found: Comparison) -> MeasureAnswer:
        """Returns the measure of two configurations, and their difference."""
        return cls(
            base=_short(found.base),
            candidate=_short(found.candidate),
            interval=IntervalAnswer.of(found.difference),
            verdict=found.verdict,
        )


class MeasuredHitsAnswer(AnswerModel):
    """The measures of the hits of one answer. A question without a relevant range has none.

    ``not_judged`` lists the ranks of hits without a judgment. They count as wrong.
    """

    measures: Absent[dict[Measure, Share]] = None
    not_judged: list[Count]

    @classmethod
    def of(cls, question: AnsweredBody, hits: list[RangeBody]) -> MeasuredHitsAnswer:
        """Measures the hits of one configuration."""
        gold, others, found = (
            [each.span() for each in ranges]
            for ranges in (question.relevant, question.others, hits)
        )
        scores = score(gold, found) if gold else None
        return cls(
            measures=scores and {name: _short(value) for name, value in scores.items()},
            not_judged=[
                rank for rank, hit in enumerate(found, start=1) if not is_judged(hit, gold, others)
            ],
        )


class MeasuredQuestionAnswer(AnswerModel):
    """The measures of one question, by configuration."""

    base: MeasuredHitsAnswer
    candidate: Absent[MeasuredHitsAnswer] = None


class MeasuresAnswer(AnswerModel):
    """Measures of all questions and of each one, in the order in which they were sent."""

    measures: dict[Measure, MeasureAnswer]
    questions: list[MeasuredQuestionAnswer]


@router.post("/measures", responses=refused(413))
async def measure_answers(body: MeasuresBody, _: ReadOwner) -> MeasuresAnswer:
    """Returns how well the hits answer judged questions. Nothing of them is kept."""
    questions = [
        MeasuredQuestionAnswer(
            base=MeasuredHitsAnswer.of(each, each.base),
            candidate=None
            if each.candidate is None
            else MeasuredHitsAnswer.of(each, each.candidate),
        )
        for each in body.questions
    ]
    return MeasuresAnswer(measures=_over_all(questions), questions=questions)


def _over_all(questions: list[MeasuredQuestionAnswer]) -> dict[Measure, MeasureAnswer]:
    base = [each.base.measures for each in questions if each.base.measures]
    others = (each.candidate for each in questions)
    candidate = [each.measures for each in others if each and each.measures]
    if candidate:
        both = compared(base, candidate)
        return {name: MeasureAnswer.of_two(each) for name, each in both.items()}
    return {name: MeasureAnswer.of_one(each) for name, each in means(base).items()} if base else {}


def _short(value: float) -> float:
    return round(value, 6)
