"""Search and replace: previews and plans: bodies, answers, routes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

from aws_lambda_powertools import Logger
from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from context_search.access.routes.idempotency import Idempotent
from context_search.web.callers import ReplaceOwner, part
from context_search.web.fields import (
    Absent,
    AnswerModel,
    Body,
    Count,
    Cursor,
    Id,
    JsonPointer,
    KnownId,
    LeftOut,
    NextCursor,
    NotNull,
    Time,
    example,
    next_cursor,
)
from context_search.web.problems import refused
from context_search.web.query_parameters import Decimal, IdInPath
from context_search.web.request_body import StrictJsonRoute, request_id
from context_search_editing.previewing import (
    MAX_SAMPLES,
    AskedReplacement,
    PlanPage,
    PreviewReplacements,
    ShownPlan,
)
from context_search_editing.rules.plans import (
    DEFAULT_LIFETIME_S,
    MAX_LIFETIME_S,
    MAX_SCOPE_TABLES,
    MIN_LIFETIME_S,
    Plan,
    PlannedTable,
    PlannedTableState,
    PlanState,
    SkipReason,
    Warning,  # noqa: A004 - the word of the API
)
from context_search_editing.rules.replacing import (
    MAX_FIND_CHARS,
    MAX_REPLACE_WITH_CHARS,
    ReplaceRequest,
)
from context_search_editing.showing import ShownMatch

router = APIRouter(
    prefix="/api/v1/projects/{project_id}/replace",
    route_class=StrictJsonRoute,
    tags=["search and replace"],
)
_log = Logger(service="create-tool", child=True)

A = TypeVar("A", bound=AnswerModel)
PlanId = IdInPath
_Tables = Annotated[list[Id], Field(min_length=1, max_length=MAX_SCOPE_TABLES)]


class PreviewBody(Body):
    """``POST …/replace/preview``: what is sought, what it becomes, and where.

    Without ``tables``, ``json_pointer`` and ``tool_id`` in all tables of the project. The answer
    shows ``samples`` matches; the plan may be executed for ``expires_in`` seconds.
    """

    model_config = example(find="废弃仓库", replace_with="荒废工厂", tables=[1])
    find: Annotated[str, Field(min_length=1, max_length=MAX_FIND_CHARS)]
    replace_with: Annotated[str, Field(max_length=MAX_REPLACE_WITH_CHARS)]
    case_sensitive: bool = True
    whole_word: bool = False
    regex: bool = False
    whole_characters: bool = True
    tables: Annotated[_Tables | LeftOut, NotNull] = None
    json_pointer: JsonPointer = ""
    tool_id: Id | None = None
    samples: Annotated[int, Field(ge=0, le=MAX_SAMPLES)] = 20
    expires_in: Annotated[int, Field(ge=MIN_LIFETIME_S, le=MAX_LIFETIME_S)] = DEFAULT_LIFETIME_S

    def asked(self) -> AskedReplacement:
        """Returns what is asked for."""
        return AskedReplacement(
            request=ReplaceRequest(
                find=self.find,
                replace_with=self.replace_with,
                case_sensitive=self.case_sensitive,
                whole_word=self.whole_word,
                regex=self.regex,
                whole_characters=self.whole_characters,
            ),
            tables=None if self.tables is None else tuple(self.tables),
            json_pointer=self.json_pointer,
            tool_id=self.tool_id,
            samples=self.samples,
            lifetime_s=self.expires_in,
        )


class MatchAnswer(AnswerModel):
    """A place that would change: code points of its string, the end exclusive.

    ``found_chars`` and ``becomes_chars`` are there where the texts are only beginnings.
    """

    match: KnownId
    table_id: KnownId
    json_pointer: str
    char_start: Count
    char_end: Count
    before: str
    found: str
    becomes: str
    after: str
    found_chars: Absent[Count] = None
    becomes_chars: Absent[Count] = None

    @classmethod
    def of(cls, match: ShownMatch) -> MatchAnswer:
        """Returns a match as it is shown."""
        edit = match.edit
        return cls(
            match=match.number,
            table_id=match.table_id,
            json_pointer=match.json_pointer,
            char_start=edit.start,
            char_end=edit.end,
            before=edit.before,
            found=edit.found,
            becomes=edit.becomes,
            after=edit.after,
            found_chars=edit.found_chars if edit.found_chars > len(edit.found) else None,
            becomes_chars=edit.becomes_chars if edit.becomes_chars > len(edit.becomes) else None,
        )


class PlannedTableAnswer(AnswerModel):
    """A table with matches; ``name`` is null when it is gone, ``revision`` was looked at."""

    table_id: KnownId
    name: str | None
    revision: Count
    matches_count: Count
    state: PlannedTableState
    reason: SkipReason | None
    replaced_count: Count
    revision_before: Count | None
    revision_after: Count | None

    @classmethod
    def of(cls, table: PlannedTable, names: Mapping[int, str]) -> PlannedTableAnswer:
        """Returns what is shown of a table."""
        return answer_of(cls, table_fields(table), name=names.get(table.table_id))


class LeftOutAnswer(AnswerModel):
    """Places that stay as they are, by reason; ``too_slow`` counts strings."""

    inside_character: Count
    already_equal: Count
    empty: Count
    too_slow: Count


class ScannedAnswer(AnswerModel):
    """What a preview has looked through."""

    tables: Count
    bytes: Count


class ProgressAnswer(AnswerModel):
    """How far a preview is."""

    tables_done: Count
    tables: Count


class PlanErrorAnswer(AnswerModel):
    """Why a preview failed."""

    code: str
    message: str


class ReplaceRequestAnswer(AnswerModel):
    """What was asked for."""

    find: str
    replace_with: str
    case_sensitive: bool
    whole_word: bool
    regex: bool
    whole_characters: bool


class PlanSummaryAnswer(AnswerModel):
    """A plan: who asked for what, what it found, what became of it. No text of a document.

    ``request`` is null when its texts are forgotten, and of an undo. ``mcp_id``: the MCP instance
    whose agent asked. ``undoes``, ``undone_by``: other plans.
    """

    plan_id: KnownId
    state: PlanState
    digest: str | None
    atomic: bool
    created_at: Time
    expires_at: Time
    tables_count: Count
    strings_count: Count
    matches_count: Count
    replaced_count: Count
    left_out: LeftOutAnswer
    warnings: list[Warning]
    scanned: ScannedAnswer
    previewed_by: str | None
    executed_by: str | None
    executed_at: Time | None
    undo_until: Time | None
    request_id: str | None
    mcp_id: KnownId | None
    undoes: KnownId | None
    undone_by: KnownId | None
    error: PlanErrorAnswer | None
    request: ReplaceRequestAnswer | None

    @classmethod
    def of(cls, plan: Plan, replaced: int) -> PlanSummaryAnswer:
        """Returns what a list shows of a plan."""
        return answer_of(cls, plan_fields(plan), replaced_count=replaced)


class PlanAnswer(PlanSummaryAnswer):
    """A plan with a page of its tables, and the first matches where it was just made.

    ``progress`` is there while it is ``previewing``. ``cursor`` goes on with the matches,
    ``tables_cursor`` with the tables.
    """

    progress: Absent[ProgressAnswer] = None
    tables: list[PlannedTableAnswer]
    tables_cursor: NextCursor | None
    matches: list[MatchAnswer]
    cursor: NextCursor | None

    @classmethod
    def of_shown(cls, shown: ShownPlan) -> PlanAnswer:
        """Returns what is shown of a plan."""
        plan, matches = shown.plan, [MatchAnswer.of(match) for match in shown.matches]
        done, tables = plan.counts.scanned_tables, shown.tables_in_scope
        progress = ProgressAnswer(tables_done=done, tables=tables)
        last = matches[-1].match if matches else 0
        return answer_of(
            cls,
            plan_fields(plan),
            replaced_count=shown.replaced,
            progress=progress if plan.state == "previewing" else None,
            tables=[PlannedTableAnswer.of(row, shown.names) for row in shown.tables.rows],
            tables_cursor=next_cursor(shown.tables.next_after),
            matches=matches,
            cursor=next_cursor(last) if last < plan.counts.matches else None,
        )


class PlansAnswer(AnswerModel):
    """A page of plans, the newest first."""

    plans: list[PlanSummaryAnswer]
    cursor: NextCursor | None

    @classmethod
    def of(cls, page: PlanPage) -> PlansAnswer:
        """Returns a page."""
        plans = [PlanSummaryAnswer.of(each, page.replaced.get(each.id, 0)) for each in page.rows]
        return cls(plans=plans, cursor=next_cursor(page.next_after))


def answer_of(kind: type[A], fields: Mapping[str, Any], **more: Any) -> A:
    """Returns an answer with those of some fields that it has, and with more."""
    own = {name: fields[name] for name in fields.keys() & kind.model_fields.keys()}
    return kind(**{**own, **more})


def table_fields(table: PlannedTable) -> dict[str, Any]:
    """Returns what answers to programs and to agents show of a document of a plan."""
    return {
        "table_id": table.table_id,
        "revision": table.revision_seen,
        "matches_count": table.matches,
        "state": table.state,
        "reason": table.reason,
        "replaced_count": table.replaced,
        "changed_count": table.replaced,
        "reverted_count": table.replaced,
        "kept_count": table.kept,
        "revision_before": table.revision_before,
        "revision_after": table.revision_after,
    }


def plan_fields(plan: Plan) -> dict[str, Any]:
    """Returns what answers to programs and to agents show of a plan."""
    counts = plan.counts
    return {
        "plan_id": plan.id,
        "state": plan.state,
        "digest": plan.digest.hex() if plan.digest else None,
        "atomic": counts.is_atomic,
        "created_at": plan.created_at,
        "expires_at": plan.expires_at,
        "tables_count": counts.tables,
        "strings_count": counts.strings,
        "matches_count": counts.matches,
        "left_out": LeftOutAnswer(**asdict(counts.left_out)),
        "warnings": list(counts.warnings),
        "scanned": ScannedAnswer(tables=counts.scanned_tables, bytes=counts.scanned_bytes),
        "previewed_by": plan.previewed_by,
        "executed_by": plan.executed_by,
        "executed_at": plan.executed_at,
        "undo_until": plan.undo_until,
        "request_id": plan.request_id,
        "mcp_id": plan.mcp_id,
        "undoes": plan.undoes,
        "undone_by": plan.undone_by,
        "error": PlanErrorAnswer(**plan.last_error) if plan.last_error else None,
        "request": ReplaceRequestAnswer(**asdict(plan.request)) if plan.request else None,
    }


def _report(plan: Plan) -> None:
    """Writes what was previewed: ids, counts, and the keyed hashes of both texts."""
    counts = plan.counts
    _log.info(
        "previewed",
        extra={
            "request_id": request_id(),
            "plan_id": plan.id,
            "state": plan.state,
            "request_hmac": plan.request_hmac.hex(),
            "tables": counts.tables,
            "strings": counts.strings,
            "matches": counts.matches,
            "scanned_tables": counts.scanned_tables,
            "scanned_bytes": counts.scanned_bytes,
            "warnings": list(counts.warnings),
        },
    )


Use = Annotated[PreviewReplacements, part("editing.preview")]
Below = Annotated[int | None, Query(alias="cursor", ge=1, le=2**63 - 1), Decimal]


@router.post(
    "/preview",
    response_model=PlanAnswer,
    responses={202: {"model": PlanAnswer, "description": "Accepted"}, **refused(409)},
)
async def preview_replacement(
    body: PreviewBody, caller: ReplaceOwner, use: Use, once: Idempotent
) -> Response:
    """Makes a plan: what would change, nothing is changed.

    A long one is ``previewing`` (202), and goes on in the queue. What comes again with its
    ``Idempotency-Key`` gets the plan as it is by then, without matches.
    """
    shown: ShownPlan | None = None

    def start() -> int:
        nonlocal shown
        shown = use.start(caller, body.asked(), request_id=request_id())
        _report(shown.plan)
        return shown.plan.id

    def answer(plan_id: int) -> JSONResponse:
        now = shown or use.read(caller, plan_id)
        if now.plan.state != "previewing":
            return PlanAnswer.of_shown(now).response()
        where = f"/api/v1/projects/{caller.project_id}/replace/{plan_id}"
        return PlanAnswer.of_shown(now).response(202, {"Location": where})

    return once.answer_by_id(caller.project_id, start, answer)


@router.get("")
async def list_plans(caller: ReplaceOwner, use: Use, cursor: Below = None) -> PlansAnswer:
    """Returns the plans of a project, the newest first, at most 100 a page."""
    return PlansAnswer.of(use.page(caller, below=cursor))


@router.get("/{plan_id}")
async def read_plan(
    plan_id: PlanId, caller: ReplaceOwner, use: Use, cursor: Cursor = 0
) -> PlanAnswer:
    """Returns a plan; ``cursor`` goes on with its tables, of which a page has 100."""
    return PlanAnswer.of_shown(use.read(caller, plan_id, after=cursor))


@router.delete("/{plan_id}", status_code=204, responses=refused(409))
async def cancel_plan(plan_id: PlanId, caller: ReplaceOwner, use: Use) -> Response:
    """Cancels a plan, and forgets its texts; one that was executed cannot be undone then."""
    use.cancel(caller, plan_id)
    return Response(status_code=204)
