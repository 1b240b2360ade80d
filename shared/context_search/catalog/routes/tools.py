"""Search Tools: bodies, answers, routes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse
from pydantic import Field, model_validator

from context_search.access.lookup import live_tool
from context_search.access.routes.idempotency import Idempotent
from context_search.catalog.routes.search_config import (
    ChangeSearchConfigBody,
    SearchConfigAnswer,
    SearchConfigBody,
)
from context_search.catalog.tools import ManageTools, NewSearchTool
from context_search.core.config import IndexConfig, Model
from context_search.core.errors import ContextSearchError, InvalidInputError
from context_search.core.model import Scope, ToolSettings, ToolsQuery
from context_search.core.pages import PAGE
from context_search.core.progress import IndexStatus
from context_search.indexing.routes.search_index import (
    IndexSummaryAnswer,
    ListedIndexAnswer,
    emptiness,
)
from context_search.indexing.status import (
    LISTED_TOOLS,
    MOST_LISTED_TOOLS,
    ListedTool,
    ToolStatus,
    WaitForIndex,
    page_of_tools,
    tool_status,
)
from context_search.ranking.search import EmptyHint
from context_search.web.callers import (
    MayManage,
    MayRead,
    SilentS,
    Stored,
    ToolId,
    own_project,
    part,
)
from context_search.web.fields import (
    Absent,
    AnswerModel,
    Body,
    Count,
    Cursor,
    Description,
    Id,
    JsonPointer,
    KnownId,
    LeftOut,
    NextCursor,
    NotNull,
    OfTable,
    PartOfName,
    RerankBody,
    Time,
    ToolName,
    example,
    next_cursor,
    source,
)
from context_search.web.metrics import emit_created
from context_search.web.polled import NOT_MODIFIED, IfNoneMatch
from context_search.web.problems import refused
from context_search.web.query_parameters import Decimal
from context_search.web.request_body import StrictJsonRoute
from context_search.web.revisions import IfMatch, etag

router = APIRouter(route_class=StrictJsonRoute, tags=["tools"])


class CreateSearchToolBody(Body):
    """``POST /api/v1/tools/search``. ``json_pointer`` is another name for ``json_path``."""

    model_config = example(
        project_id=1,
        table_id=1,
        name="search_library",
        json_path="/letters",
        search_config={"chunk_threshold": 1_000},
    )
    project_id: Id
    table_id: Id
    name: ToolName
    description: Description | None = None
    type: Literal["search"] = "search"
    json_path: JsonPointer = ""
    json_pointer: JsonPointer = ""
    search_config: SearchConfigBody = Field(default_factory=SearchConfigBody)

    @model_validator(mode="after")
    def _one_scope(self) -> CreateSearchToolBody:
        is_both = {"json_path", "json_pointer"} <= self.model_fields_set
        if is_both and self.json_path != self.json_pointer:
            raise ValueError("json_path and json_pointer name two different scopes")
        return self

    @property
    def scope(self) -> str:
        """The pointer below which the tool may look; the whole document by default."""
        return self.json_path or self.json_pointer


class ChangeToolBody(Body):
    """``PATCH /api/v1/tools/{tool_id}``: what is left out stays."""

    model_config = example(name="search_library", search_config={"top_k": 10})
    name: Annotated[ToolName | LeftOut, NotNull] = None
    description: Description | None = None
    search_config: Annotated[ChangeSearchConfigBody | LeftOut, NotNull] = None

    def applied_to(self, settings: ToolSettings, index: IndexConfig) -> ToolSettings:
        """Returns the settings of a tool over that index with the body's changes.

        Raises InvalidInputError, IndexSettingFixedError and FilterInvalidError.
        """
        if self.name is not None:
            settings = replace(settings, name=self.name)
        if "description" in self.model_fields_set:
            settings = replace(settings, description=self.description)
        if self.search_config is None:
            return settings
        self.search_config.check_index(index)
        return replace(settings, search=self.search_config.applied_to(settings.search))


class LargeNodeAnswer(AnswerModel):
    """A long string that was found; its chunks are null until they are known."""

    json_pointer: str
    char_count: Count
    chunks_count: Count | None


class NewSearchToolAnswer(AnswerModel):
    """A tool that was made; counts are null until they are known."""

    tool_id: KnownId
    name: str
    status: IndexStatus
    chunks_created: Count | None
    namespace: str
    large_nodes_detected: list[LargeNodeAnswer]
    hint: Absent[EmptyHint] = None
    longest_string: Absent[Count] = None

    @classmethod
    def of(cls, status: ToolStatus) -> NewSearchToolAnswer:
        """Returns what a create answers."""
        progress = status.progress
        return cls.about(
            progress,
            status.tool,
            status.index.generation,
            tool_id=status.tool.id,
            chunks_created=progress.chunks_count if progress.status == "ready" else None,
            large_nodes_detected=status.nodes,
            **emptiness(status),
        )


class ToolMetadataAnswer(AnswerModel):
    """What we know of a tool beside its settings."""

    search_index: IndexSummaryAnswer


class SearchToolAnswer(AnswerModel):
    """A Search Tool with the summary of its index."""

    id: KnownId
    project_id: KnownId
    table_id: KnownId
    type: Literal["search"]
    name: str
    description: str | None
    json_path: Annotated[str, source("json_pointer")]
    search_config: SearchConfigAnswer
    metadata: ToolMetadataAnswer
    created_at: Time | None

    @classmethod
    def of(cls, status: ToolStatus, **further: object) -> Self:
        """Returns a tool."""
        tool = status.tool
        summary = IndexSummaryAnswer.about(status.progress, configured_at=tool.created_at)
        return cls.about(
            tool,
            tool.scope,
            type="search",
            search_config=SearchConfigAnswer.of(tool.search, status.index.config),
            metadata=ToolMetadataAnswer(search_index=summary),
            **further,
        )


class ReplacingMcpAnswer(AnswerModel):
    """An MCP instance whose agents replace, or propose to, in the strings that a tool returns."""

    id: KnownId
    name: str
    replace: Annotated[Literal["propose", "execute"], source("replacing")]


class ChangedToolAnswer(SearchToolAnswer):
    """A tool after a change, and the MCP instances, if any, that replace in what it returns."""

    replacing_mcps: Absent[list[ReplacingMcpAnswer]] = None


class ListedToolAnswer(AnswerModel):
    """A Search Tool in a list: what it searches, and how far its index is."""

    id: KnownId
    name: str
    description: str | None
    table_id: KnownId
    json_pointer: str
    status: IndexStatus
    search_index: ListedIndexAnswer

    @classmethod
    def of(cls, listed: ListedTool) -> ListedToolAnswer:
        """Returns what is shown of a tool in a list."""
        tool, progress = listed.tool, listed.progress
        index = ListedIndexAnswer.about(progress, configured_at=tool.created_at)
        return cls.about(tool, tool.scope, progress, search_index=index)


class ToolsAnswer(AnswerModel):
    """A page of Search Tools."""

    tools: list[ListedToolAnswer]
    cursor: NextCursor | None


@dataclass(frozen=True, slots=True)
class ToolUseCases:
    """What the routes of this file call, and the models that tools may have.

    New indexes are built with ``model``; ``rerank_models`` may give second opinions.
    """

    tools: ManageTools
    wait_for_index: WaitForIndex
    model: Model
    rerank_models: tuple[str, ...]

    def check(self, rerank: RerankBody | None) -> None:
        """Raises InvalidInputError for a reranking model that the deployment does not have."""
        if rerank is not None and rerank.model not in self.rerank_models:
            known = ", ".join(self.rerank_models) or "none"
            raise InvalidInputError(
                f"search_config.rerank.model: the reranking models of this deployment are: {known}"
            )


Use = Annotated[ToolUseCases, part("tools")]


@router.post(
    "/api/v1/tools/search",
    status_code=201,
    response_model=NewSearchToolAnswer,
    responses=refused(409),
)
async def create_search_tool(
    body: CreateSearchToolBody,
    caller: MayManage,
    use: Use,
    once: Idempotent,
    wait: Annotated[int, Query(ge=0, le=25), Decimal] = 0,
) -> Response:
    """Creates a Search Tool and orders the indexing of its scope; ``wait`` holds the answer.

    For so many seconds at most, and no longer than the deployment allows: 5 s as a rule.
    Answers ``ready`` or ``indexing``, with what was found; counts are null until they are known.
    """
    own_project(caller, body.project_id)
    use.check(body.search_config.rerank)
    wanted = NewSearchTool(
        project_id=caller.project_id,
        name=body.name,
        description=body.description,
        scope=Scope(body.table_id, body.scope),
        index=body.search_config.to_index_config(use.model),
        search=body.search_config.to_search_config(),
    )

    def create() -> JSONResponse:
        status = use.tools.create(wanted)
        emit_created(status.progress)
        # The tool is there, whatever becomes of the waiting: who asks again would make another.
        with suppress(ContextSearchError):
            status = use.wait_for_index.status(status.tool.id, caller, timeout_s=wait)
        place = {"Location": f"/api/v1/tools/{status.tool.id}"}
        headers = {**etag(status.tool.settings.version), **place}
        return NewSearchToolAnswer.of(status).response(201, headers)

    return once.answer(caller.project_id, create)


async def _in_url(table_id: OfTable = None) -> ToolsQuery:
    return ToolsQuery(table_id=table_id)


@router.get("/api/v1/tools", response_model=ToolsAnswer, responses={**NOT_MODIFIED, **refused(404)})
async def list_tools(
    caller: MayRead,
    store: Stored,
    silent_s: SilentS,
    polled: IfNoneMatch,
    wanted: Annotated[ToolsQuery, Depends(_in_url)],
    cursor: Cursor = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_LISTED_TOOLS), Decimal] = LISTED_TOOLS,
    q: PartOfName = None,
) -> Response:
    """Returns the project's Search Tools with the summaries of their indexes, 20 a page.

    ``q`` is part of the name.
    """
    with store.for_project(caller.project_id) as work:
        page = page_of_tools(
            work,
            caller,
            wanted,
            after=cursor,
            limit=limit,
            part_of_name=q,
            silent_s=silent_s,
        )
    tools = [ListedToolAnswer.of(listed) for listed in page.rows]
    return polled.response(ToolsAnswer(tools=tools, cursor=next_cursor(page.next_after)))


@router.get("/api/v1/tools/{tool_id}", response_model=SearchToolAnswer)
async def read_tool(
    tool_id: ToolId, caller: MayRead, store: Stored, silent_s: SilentS
) -> JSONResponse:
    """Returns a Search Tool with the summary of its index; the ETag is that of its settings."""
    with store.for_project(caller.project_id) as work:
        status = tool_status(work, live_tool(work, tool_id, caller), silent_s=silent_s)
    return SearchToolAnswer.of(status).response(headers=etag(status.tool.settings.version))


@router.patch("/api/v1/tools/{tool_id}", response_model=ChangedToolAnswer, responses=refused(409))
async def change_tool(
    tool_id: ToolId,
    body: ChangeToolBody,
    caller: MayManage,
    use: Use,
    store: Stored,
    if_match: IfMatch,
) -> JSONResponse:
    """Changes name, description and how the tool ranks and answers, not what makes its index.

    Agents of ``replacing_mcps`` replace in every string that the tool returns now.
    """
    use.check(None if body.search_config is None else body.search_config.rerank)
    status = use.tools.change(caller, tool_id, body.applied_to, if_version=if_match)
    with store.for_project(caller.project_id) as work:
        mcps = work.mcp_instances.replacing_in(tool_id, limit=PAGE)
    changed = ChangedToolAnswer.of(status, replacing_mcps=mcps or None)
    return changed.response(headers=etag(status.tool.settings.version))


@router.delete("/api/v1/tools/{tool_id}", status_code=204, responses=refused(409))
async def delete_tool(
    tool_id: ToolId, caller: MayManage, use: Use, if_match: IfMatch = None
) -> Response:
    """Deletes a Search Tool; it answers nothing from now on."""
    use.tools.delete(caller, tool_id, if_version=if_match)
    return Response(status_code=204)
