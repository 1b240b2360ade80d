"""The index over all tables of a project: on, off, state, strings, rebuild: answers, routes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse
from pydantic import JsonValue

from context_search.access.routes.idempotency import Idempotent
from context_search.core.callers import Operator
from context_search.core.filters import parse_names
from context_search.core.progress import IndexStatus, NodeState
from context_search.indexing.indexer import IndexLimits
from context_search.indexing.project_index import (
    ProjectIndexes,
    ProjectIndexStatus,
    project_index_status,
)
from context_search.indexing.routes.rebuilds import (
    GenerationAnswer,
    RetriedAnswer,
    UseOperations,
    UseRebuilds,
)
from context_search.indexing.routes.search_index import (
    CalibrationAnswer,
    IndexModelAnswer,
    IntegrityAnswer,
    LastErrorAnswer,
    RebuildProgressAnswer,
)
from context_search.indexing.routes.strings import StringAnswer
from context_search.indexing.strings import MAX_CURSOR, MAX_STRINGS, Strings, strings_of_project
from context_search.web.callers import (
    InternalOnly,
    Owner,
    ProjectId,
    ReadOwner,
    SilentS,
    Stored,
    part,
)
from context_search.web.fields import (
    Absent,
    AnswerModel,
    Body,
    Count,
    Filterable,
    Id,
    JsonPointer,
    KnownId,
    LeftOut,
    Listed,
    NotNull,
    StoredJsonAnswer,
    Time,
    TimeText,
    example,
    source,
)
from context_search.web.polled import NOT_MODIFIED, IfNoneMatch
from context_search.web.problems import refused
from context_search.web.query_parameters import Decimal
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, tags=["project search"])


class ProjectIndexBody(Body):
    """``POST …/search-index``; without ``filterable`` it stays as it is, at first empty."""

    model_config = example(filterable=["status", "author/name"])
    filterable: Annotated[Filterable | LeftOut, NotNull] = None


class ProjectRetryBody(Body):
    """``POST …/search-index/retry``: all of a project, one table's, or one string of a table."""

    model_config = example(table_id=1, json_pointer="/letters/0/text")
    table_id: Annotated[Id | LeftOut, NotNull] = None
    json_pointer: Annotated[JsonPointer | LeftOut, NotNull] = None


class RefusedTableAnswer(StoredJsonAnswer):
    """A table whose document cannot be indexed as it is, and why."""

    at: TimeText
    code: str
    message: str
    table_id: KnownId
    retryable: bool


class ProjectIndexAnswer(AnswerModel):
    """The state of the index over all tables of a project."""

    project_id: KnownId
    namespace: str
    status: IndexStatus
    indexed_at: Time | None
    nodes_count: Count
    chunks_count: Count
    indexed_chunks_count: Count
    last_error: LastErrorAnswer | None
    refused: list[RefusedTableAnswer]
    nodes: Annotated[dict[NodeState, Count], source("states")]
    integrity: IntegrityAnswer | None
    calibration: CalibrationAnswer | None
    model: Annotated[IndexModelAnswer, source("config")]
    filterable: Annotated[list[str], source("fields"), Listed]
    rebuild: Absent[RebuildProgressAnswer] = None

    @classmethod
    def of(cls, status: ProjectIndexStatus) -> ProjectIndexAnswer:
        """Returns counters, errors and what cannot be indexed."""
        index = status.index
        return cls.about(
            status.progress,
            index,
            index.generation,
            status,
            rebuild=RebuildProgressAnswer.of(status.rebuild),
        )


class ProjectStringsAnswer(AnswerModel):
    """A page of strings by table and pointer, otherwise as of a tool."""

    project_id: KnownId
    most_attempts: Count
    nodes: list[StringAnswer]
    cursor: str | None

    @classmethod
    def of(cls, project_id: int, page: Strings) -> ProjectStringsAnswer:
        """Returns a page."""
        return cls(
            project_id=project_id,
            most_attempts=IndexLimits().max_attempts,
            nodes=[StringAnswer.of(string) for string in page.rows],
            cursor=page.cursor,
        )


UseIndexes = Annotated[ProjectIndexes, part("project_indexes")]
_STRINGS: dict[str, JsonValue] = {
    "pattern": r"^[1-9][0-9]{0,18}\.[1-9][0-9]{0,18}\.[A-Za-z0-9_-]*$"
}
StringsCursor = Annotated[str | None, Query(max_length=MAX_CURSOR, json_schema_extra=_STRINGS)]


@router.post("/api/v1/projects/{project_id}/search-index", status_code=202, responses=refused(409))
async def switch_on_project_index(
    owner: Owner, indexes: UseIndexes, body: ProjectIndexBody | None = None
) -> ProjectIndexAnswer:
    """Indexes every string of every table, now and later; the same again changes nothing."""
    named = None if body is None or body.filterable is None else parse_names(body.filterable)
    return ProjectIndexAnswer.of(indexes.switch_on(owner, named))


@router.get(
    "/api/v1/projects/{project_id}/search-index",
    response_model=ProjectIndexAnswer,
    responses={**NOT_MODIFIED, **refused(409)},
)
async def read_project_index(
    owner: ReadOwner, store: Stored, silent_s: SilentS, polled: IfNoneMatch
) -> Response:
    """Returns the state of the index; 409 ``PROJECT_INDEX_OFF`` while there is none."""
    with store.for_project(owner.project_id) as work:
        status = project_index_status(work, owner, silent_s=silent_s)
    return polled.response(ProjectIndexAnswer.of(status))


@router.delete(
    "/api/v1/projects/{project_id}/search-index", status_code=204, responses=refused(409)
)
async def switch_off_project_index(owner: Owner, indexes: UseIndexes) -> Response:
    """Removes the index; project search answers nothing from now on."""
    indexes.switch_off(owner)
    return Response(status_code=204)


@router.get("/api/v1/projects/{project_id}/search-index/nodes", responses=refused(409))
async def list_project_strings(
    owner: Owner,
    store: Stored,
    state: NodeState | None = None,
    table_id: Annotated[int | None, Query(ge=1, le=2**63 - 1), Decimal] = None,
    cursor: StringsCursor = None,
    limit: Annotated[int, Query(ge=1, le=MAX_STRINGS), Decimal] = 100,
) -> ProjectStringsAnswer:
    """Returns the strings of the index, all or those of one state, by table and pointer."""
    with store.for_project(owner.project_id) as work:
        page = strings_of_project(work, owner, table_id, state=state, cursor=cursor, limit=limit)
    return ProjectStringsAnswer.of(owner.project_id, page)


@router.post(
    "/api/v1/projects/{project_id}/search-index/retry",
    response_model=RetriedAnswer,
    responses=refused(409),
)
async def retry_project_strings(
    owner: Owner,
    operations: UseOperations,
    once: Idempotent,
    body: ProjectRetryBody | None = None,
) -> Response:
    """Lets strings in quarantine be tried again: one, or 1,000 of a table or of all."""
    asked = body or ProjectRetryBody()

    def retry() -> JSONResponse:
        retried = operations.retry_of_project(owner, asked.table_id, asked.json_pointer)
        return RetriedAnswer.about(retried).response()

    return once.answer(owner.project_id, retry)


@router.post(
    "/internal/projects/{project_id}/search-index/rebuild",
    dependencies=[InternalOnly],
    status_code=202,
    responses=refused(409),
)
async def rebuild_project_index(project_id: ProjectId, rebuilds: UseRebuilds) -> GenerationAnswer:
    """Builds the index anew beside the one that answers."""
    return GenerationAnswer.about(rebuilds.start_of_project(Operator(project_id)))


@router.post(
    "/internal/projects/{project_id}/search-index/rollback",
    dependencies=[InternalOnly],
    responses=refused(409),
)
async def roll_back_project_index(project_id: ProjectId, rebuilds: UseRebuilds) -> GenerationAnswer:
    """Lets the generation before the last switch answer again."""
    return GenerationAnswer.about(rebuilds.roll_back_of_project(Operator(project_id)))
