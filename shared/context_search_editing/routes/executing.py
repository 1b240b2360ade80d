"""Search and replace: plans are executed and undone: bodies, answers, routes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from aws_lambda_powertools import Logger
from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse
from pydantic import Field, model_validator

from context_search.access.routes.idempotency import Idempotent
from context_search.web.callers import ReplaceOwner, part
from context_search.web.fields import (
    AnswerModel,
    Body,
    Count,
    Id,
    KnownId,
    LeftOut,
    NotNull,
    Time,
    example,
)
from context_search.web.problems import refused
from context_search.web.query_parameters import TrueOrFalse
from context_search.web.request_body import StrictJsonRoute, request_id
from context_search_editing.executing import ExecutedPlan, ExecutePlans
from context_search_editing.routes.replacing import (
    PlanErrorAnswer,
    PlanId,
    answer_of,
    plan_fields,
    table_fields,
)
from context_search_editing.rules.plans import (
    MAX_CHOSEN,
    MAX_PLANNED_TABLES,
    Choice,
    KeptReason,
    OnConflict,
    Plan,
    PlannedTableState,
    PlanState,
    SkipReason,
)
from context_search_editing.rules.replacing import MAX_MATCHES
from context_search_editing.undoing import UndoPlans
from context_search_editing.write_documents import KeptPlace

router = APIRouter(
    prefix="/api/v1/projects/{project_id}/replace",
    route_class=StrictJsonRoute,
    tags=["search and replace"],
)
_log = Logger(service="create-tool", child=True)

MAX_KEPT_SHOWN = 1_000
_POINTER_CHARS = 1_000_000
_Match = Annotated[int, Field(ge=1, le=MAX_MATCHES)]
_Matches = Annotated[list[_Match], Field(max_length=MAX_CHOSEN)]
_Tables = Annotated[list[Id], Field(max_length=MAX_PLANNED_TABLES)]


class ExecuteBody(Body):
    """``POST …/replace/execute``: a plan as it was shown, and which of its matches.

    ``except``: all matches but these, or ``only`` these. ``except_tables``: nothing in these.
    ``preview_id`` is another name of ``plan_id``.
    """

    model_config = example(plan_id=1, digest="9f2c41d07ab3e5d88c61f00b7d3a4e19")
    plan_id: Id
    digest: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    leave: Annotated[_Matches, Field(alias="except", default_factory=list)]
    only: Annotated[_Matches | LeftOut, NotNull] = None
    except_tables: Annotated[_Tables, Field(default_factory=list)]
    on_conflict: OnConflict = "abort"

    @model_validator(mode="before")
    @classmethod
    def _takes_both_names(cls, given: object) -> object:
        if not isinstance(given, dict) or "preview_id" not in given:
            return given
        if "plan_id" in given:
            raise ValueError("plan_id and preview_id are the same field: give one of them")
        return {"plan_id" if name == "preview_id" else name: given[name] for name in given}

    @model_validator(mode="after")
    def _chooses_in_one_way(self) -> ExecuteBody:
        if self.leave and self.only is not None:
            raise ValueError("except and only are two ways to choose: give one of them")
        return self

    def choice(self) -> Choice:
        """Returns which matches are executed."""
        return Choice(
            leave=frozenset(self.leave),
            only=None if self.only is None else frozenset(self.only),
            leave_tables=frozenset(self.except_tables),
            on_conflict=self.on_conflict,
        )


class UndoBody(Body):
    """``POST …/replace/{plan_id}/undo``: what happens to places that were edited since."""

    model_config = example(on_conflict="skip")
    on_conflict: OnConflict = "abort"


class ExecutedTableAnswer(AnswerModel):
    """A document of an executed plan: what was done, or why it stayed as it was."""

    table_id: KnownId
    state: PlannedTableState
    reason: SkipReason | None
    replaced_count: Count
    revision_before: Count | None
    revision_after: Count | None


class SkippedAnswer(AnswerModel):
    """A document that stayed as it was."""

    table_id: KnownId
    reason: SkipReason | None


class ExecutedAnswer(AnswerModel):
    """What became of a plan; ``tables_count`` are those in which something was replaced.

    ``replayed``: it was executed before, in the same way. ``executing``: a worker goes on with it,
    and ``GET`` of the plan tells how far it is.
    """

    plan_id: KnownId
    state: PlanState
    replayed: bool
    replaced_count: Count
    tables_count: Count
    skipped: list[SkippedAnswer]
    undo_until: Time | None
    tables: list[ExecutedTableAnswer]
    error: PlanErrorAnswer | None

    @classmethod
    def of(cls, executed: ExecutedPlan) -> ExecutedAnswer:
        """Returns what is told of an executed plan."""
        return answer_of(
            cls,
            plan_fields(executed.plan),
            replayed=executed.replayed,
            replaced_count=executed.done_count,
            tables_count=sum(table.replaced > 0 for table in executed.tables),
            skipped=[
                SkippedAnswer(table_id=table.table_id, reason=table.reason)
                for table in executed.tables
                if table.state == "skipped"
            ],
            tables=[
                answer_of(ExecutedTableAnswer, table_fields(table)) for table in executed.tables
            ],
        )


class RevertedTableAnswer(AnswerModel):
    """A document of an undo: places that came back, and places that were left alone."""

    table_id: KnownId
    state: PlannedTableState
    reason: SkipReason | None
    reverted_count: Count
    kept_count: Count
    revision_before: Count | None
    revision_after: Count | None


class KeptAnswer(AnswerModel):
    """A place that an undo left alone: where it was when the plan had been executed."""

    table_id: KnownId
    json_pointer: str
    char_start: Count
    reason: KeptReason

    @classmethod
    def of(cls, place: KeptPlace) -> KeptAnswer:
        """Returns what is shown of a place."""
        return cls(
            table_id=place.table_id,
            json_pointer=place.json_pointer,
            char_start=place.char_start,
            reason=place.reason,
        )


class UndoneAnswer(AnswerModel):
    """What became of an undo, which is a plan of its own: its undo does it all again.

    ``plan_id`` is null in a dry run. ``kept`` has the first 1,000 places that were left alone in
    documents that are there, ``kept_count`` counts those in others, too.
    """

    plan_id: KnownId | None
    undoes: KnownId
    state: PlanState
    dry_run: bool
    reverted_count: Count
    kept_count: Count
    tables: list[RevertedTableAnswer]
    kept: list[KeptAnswer]
    undo_until: Time | None
    error: PlanErrorAnswer | None

    @classmethod
    def of(cls, done: ExecutedPlan, undoes: int, *, dry_run: bool) -> UndoneAnswer:
        """Returns what is told of an undo, or of what one would do."""
        plan = done.plan
        counted: PlanState = "partial" if done.done_count else "failed"
        if not done.kept_count:
            counted = "done"
        return cls(
            plan_id=None if dry_run else plan.id,
            undoes=undoes,
            state=counted if dry_run else plan.state,
            dry_run=dry_run,
            reverted_count=done.done_count,
            kept_count=done.kept_count,
            tables=[answer_of(RevertedTableAnswer, table_fields(table)) for table in done.tables],
            kept=[*_shown(done.kept)],
            undo_until=None if dry_run else plan.undo_until,
            error=None if dry_run else _error(plan),
        )


def _shown(places: Iterable[KeptPlace]) -> Iterable[KeptAnswer]:
    room = _POINTER_CHARS
    for place, _ in zip(places, range(MAX_KEPT_SHOWN), strict=False):
        room -= len(place.json_pointer)
        if room < 0:
            return
        yield KeptAnswer.of(place)


def _error(plan: Plan) -> PlanErrorAnswer | None:
    return PlanErrorAnswer(**plan.last_error) if plan.last_error else None


def _answered(answer: AnswerModel, caller_project: int, plan: Plan) -> JSONResponse:
    if plan.state != "executing":
        return answer.response()
    where = f"/api/v1/projects/{caller_project}/replace/{plan.id}"
    return answer.response(202, {"Location": where})


def _report(what: str, done: ExecutedPlan) -> None:
    """Writes what was done: ids and counts."""
    reasons = [table.reason for table in done.tables if table.reason]
    fields: dict[str, Any] = {
        "request_id": request_id(),
        "plan_id": done.plan.id,
        "undoes": done.plan.undoes,
        "state": done.plan.state,
        "request_hmac": done.plan.request_hmac.hex(),
        "tables": len(done.tables),
        "places": done.done_count,
        "kept": done.kept_count,
        "skipped": sorted(reasons),
        "replayed": done.replayed,
    }
    _log.info(what, extra=fields)


Execute = Annotated[ExecutePlans, part("editing.execute")]
Undo = Annotated[UndoPlans, part("editing.undo")]
DryRun = Annotated[bool, Query(), TrueOrFalse]


@router.post(
    "/execute",
    response_model=ExecutedAnswer,
    responses={202: {"model": ExecutedAnswer, "description": "Accepted"}, **refused(409, 429)},
)
async def execute_plan(body: ExecuteBody, caller: ReplaceOwner, use: Execute) -> JSONResponse:
    """Executes a plan as it was shown; a large one is ``executing`` (202), by a worker.

    The same again is answered with the first result.
    """
    digest = bytes.fromhex(body.digest)
    done = use.execute(caller, body.plan_id, digest, body.choice(), request_id=request_id())
    _report("executed", done)
    return _answered(ExecutedAnswer.of(done), caller.project_id, done.plan)


@router.post(
    "/{plan_id}/undo",
    response_model=UndoneAnswer,
    responses={202: {"model": UndoneAnswer, "description": "Accepted"}, **refused(409, 413, 429)},
)
async def undo_plan(
    plan_id: PlanId,
    caller: ReplaceOwner,
    use: Undo,
    once: Idempotent,
    body: UndoBody | None = None,
    *,
    dry_run: DryRun = False,
) -> Response:
    """Takes back what a plan did; with ``dry_run`` it only counts."""
    on_conflict = (body or UndoBody()).on_conflict

    def undo() -> JSONResponse:
        done = use.undo(
            caller,
            plan_id,
            on_conflict=on_conflict,
            dry_run=dry_run,
            request_id=request_id(),
        )
        answer = UndoneAnswer.of(done, plan_id, dry_run=dry_run)
        if dry_run:
            return answer.response()
        _report("undone", done)
        return _answered(answer, caller.project_id, done.plan)

    # What was counted once is no answer to an undo.
    return undo() if dry_run else once.answer(caller.project_id, undo)
