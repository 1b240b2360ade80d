"""MCP instances, their bindings and keys, and what an outside MCP service asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Response
from fastapi.responses import JSONResponse
from pydantic import BeforeValidator, Field

from context_search.access.keys import page_of_keys
from context_search.access.routes.idempotency import Idempotent
from context_search.access.routes.keys import (
    MAKES_KEY,
    Actor,
    CreateMcpKeyBody,
    Keys,
    KeysAnswer,
    Lifetime,
    RotateKeyBody,
    UseKeys,
)
from context_search.agents.mcp_instances import (
    BoundTool,
    ManageBindings,
    ManageMcps,
    own_mcp,
    page_of_bindings,
)
from context_search.agents.tools.search_tools import described_tool
from context_search.core.callers import (
    Confirmation,
    McpChanges,
    McpInstance,
    McpSettings,
    Replacing,
    TextsOf,
    ToolsOffered,
)
from context_search.core.model import ToolRecord
from context_search.core.pages import PAGE, page_of
from context_search.web.audit import Audited
from context_search.web.callers import (
    InternalOnly,
    KeyId,
    MayManage,
    McpId,
    Stored,
    ToolId,
    own_project,
    part,
)
from context_search.web.fields import (
    AnswerModel,
    Body,
    Cursor,
    Id,
    KnownId,
    LeftOut,
    Name,
    NotNull,
    PageCursor,
    Rows,
    Time,
    example,
    source,
)
from context_search.web.problems import refused
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, tags=["mcps"])
OnOff = Literal["on", "off"]


class BindingBody(Body):
    """``POST …/bindings``"""

    model_config = example(tool_id=1)
    tool_id: Id
    status: bool = True


class CreateMcpBody(Body):
    """``POST /api/v1/mcps``. ``key_expires_in``: seconds, of the first key."""

    model_config = example(project_id=1, name="support", bindings=[{"tool_id": 1}])
    project_id: Id
    name: Name
    bindings: Annotated[list[BindingBody], Field(max_length=100)] = Field(default_factory=list)
    replace: Replacing = "off"
    confirm: Confirmation = "required"
    redact: bool = False
    tools: ToolsOffered = "named"
    reading: OnOff = "on"
    texts: TextsOf = "anyone"
    key_expires_in: Annotated[Lifetime | LeftOut, NotNull] = None


class ChangeMcpBody(Body):
    """``PATCH /api/v1/mcps/{mcp_id}``: what is left out stays.

    ``replace: execute`` without ``confirm`` makes that ``required``, unless agents executed before.
    """

    model_config = example(name="support")
    name: Name | None = None
    status: bool | None = None
    replace: Replacing | None = None
    confirm: Confirmation | None = None
    redact: bool | None = None
    tools: ToolsOffered | None = None
    reading: OnOff | None = None
    texts: TextsOf | None = None


class ChangeBindingBody(Body):
    """``PATCH …/bindings/{tool_id}``"""

    model_config = example(status=False)
    status: bool


class McpAnswer(AnswerModel):
    """An MCP instance."""

    id: KnownId
    project_id: KnownId
    name: str
    status: bool
    replace: Annotated[Replacing, source("replacing")]
    confirm: Annotated[Confirmation, source("confirmation")]
    redact: Annotated[bool, source("redacts")]
    tools: Annotated[ToolsOffered, source("offers")]
    reading: Annotated[OnOff, source("reads"), BeforeValidator({True: "on", False: "off"}.get)]
    texts: TextsOf
    created_at: Time


class NewMcpAnswer(McpAnswer):
    """An MCP instance with its first key, which is shown this once."""

    tool_ids: list[KnownId]
    api_key: str
    key_expires_at: Time | None


class McpsAnswer(AnswerModel):
    """A page of MCP instances."""

    mcps: Annotated[list[McpAnswer], Rows]
    cursor: PageCursor


class BindingAnswer(AnswerModel):
    """A binding with the name that agents call its tool by."""

    id: Annotated[KnownId, source("binding", "id")]
    tool_id: Annotated[KnownId, source("binding", "tool_id")]
    status: Annotated[bool, source("binding", "status")]
    name: str
    title: Annotated[str, source("tool", "name")]
    table_id: Annotated[KnownId, source("tool", "scope", "table_id")]


class BindingsAnswer(AnswerModel):
    """A page of bindings."""

    bindings: Annotated[list[BindingAnswer], Rows]
    cursor: PageCursor


class RpcMcpAnswer(AnswerModel):
    """An instance as the service that came before described it; its owner is the project."""

    id: KnownId
    api_key: str
    user_id: str
    project_id: KnownId
    name: str
    status: bool


class RpcToolAnswer(AnswerModel):
    """A tool with all that an MCP service needs to show it."""

    user_id: str
    id: KnownId
    project_id: KnownId
    name: str
    title: str
    alias: str | None
    type: Literal["search"]
    table_id: KnownId
    json_path: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    metadata: dict[str, Any] | None
    created_at: Time | None

    @classmethod
    def of(cls, owner: str, bound: BoundTool, record: ToolRecord) -> RpcToolAnswer:
        """Returns a tool as agents see it."""
        tool, shown = bound.tool, described_tool(bound.name, bound.tool)
        return cls.about(
            shown,
            tool,
            user_id=owner,
            alias=record.alias,
            type="search",
            table_id=tool.scope.table_id,
            json_path=tool.scope.json_pointer,
            input_schema=dict(shown.input_schema),
            output_schema=dict(shown.output_schema or {}),
            metadata=None if record.metadata is None else dict(record.metadata),
        )


class RpcBindingAnswer(AnswerModel):
    """Whether agents see the tool."""

    id: KnownId
    status: bool


class RpcBoundToolAnswer(AnswerModel):
    """A tool and its binding."""

    tool: RpcToolAnswer
    binding: RpcBindingAnswer


class McpRpcAnswer(AnswerModel):
    """What an MCP service that serves our tools itself is told about an instance.

    Shape: the internal route ``mcp-v2`` of the service that came before.
    """

    mcp_v2: RpcMcpAnswer
    bound_tools: list[RpcBoundToolAnswer]

    @classmethod
    def of(
        cls, mcp: McpInstance, api_key: str, bound: Sequence[tuple[BoundTool, ToolRecord]]
    ) -> McpRpcAnswer:
        """Returns an instance and its enabled tools."""
        owner = str(mcp.project_id)
        return cls(
            mcp_v2=RpcMcpAnswer.about(mcp, api_key=api_key, user_id=owner),
            bound_tools=[
                RpcBoundToolAnswer(
                    tool=RpcToolAnswer.of(owner, tool, record),
                    binding=RpcBindingAnswer.about(tool.binding),
                )
                for tool, record in bound
            ],
        )


Use = Annotated[ManageMcps, part("mcps")]
UseBindings = Annotated[ManageBindings, part("bindings")]


@router.post("/api/v1/mcps", status_code=201, response_model=NewMcpAnswer, responses=refused(409))
async def create_mcp(
    body: CreateMcpBody, caller: MayManage, use: Use, once: Idempotent, audit: Audited
) -> Response:
    """Creates an MCP instance with its first key, which is shown this once."""
    own_project(caller, body.project_id)

    def create() -> JSONResponse:
        bindings = [(binding.tool_id, binding.status) for binding in body.bindings]
        mcp, key = use.create(
            caller,
            body.name,
            bindings,
            McpSettings(
                replacing=body.replace,
                confirmation=body.confirm,
                redacts=body.redact,
                offers=body.tools,
                reads=body.reading == "on",
                texts=body.texts,
            ),
            lifetime_s=body.key_expires_in,
        )
        audit.report("mcp made", caller, mcp.id)
        audit.report("key made", caller, key.key.id)
        tool_ids = [binding.tool_id for binding in body.bindings]
        made = NewMcpAnswer.about(
            mcp, tool_ids=tool_ids, api_key=key.text, key_expires_at=key.key.expires_at
        )
        return made.response(201, {"Location": f"/api/v1/mcps/{mcp.id}"})

    return once.answer(caller.project_id, create)


@router.get("/api/v1/mcps")
async def list_mcps(caller: MayManage, store: Stored, cursor: Cursor = 0) -> McpsAnswer:
    """Returns the project's MCP instances."""
    with store.for_project(caller.project_id) as work:
        rows = work.mcp_instances.page(caller.project_id, after=cursor, limit=PAGE + 1)
    return McpsAnswer.about(page_of(rows, lambda mcp: mcp.id))


@router.get("/api/v1/mcps/{mcp_id}")
async def read_mcp(mcp_id: McpId, caller: MayManage, store: Stored) -> McpAnswer:
    """Returns an MCP instance."""
    with store.for_project(caller.project_id) as work:
        mcp = own_mcp(work, caller, mcp_id)
    return McpAnswer.about(mcp)


@router.patch("/api/v1/mcps/{mcp_id}", responses=refused(409))
async def change_mcp(
    mcp_id: McpId, body: ChangeMcpBody, caller: MayManage, use: Use, audit: Audited
) -> McpAnswer:
    """Changes an MCP instance; while it is disabled its keys open nothing."""
    changes = McpChanges(
        name=body.name,
        status=body.status,
        replacing=body.replace,
        confirmation=body.confirm,
        redacts=body.redact,
        offers=body.tools,
        reads=None if body.reading is None else body.reading == "on",
        texts=body.texts,
    )
    changed = use.change(caller, mcp_id, changes)
    audit.report("mcp changed", caller, mcp_id)
    return McpAnswer.about(changed)


@router.delete("/api/v1/mcps/{mcp_id}", status_code=204, responses=refused(409))
async def delete_mcp(mcp_id: McpId, caller: MayManage, use: Use, audit: Audited) -> Response:
    """Deletes an MCP instance with its keys and bindings; the tools stay."""
    use.delete(caller, mcp_id)
    audit.report("mcp deleted", caller, mcp_id)
    return Response(status_code=204)


@router.post(
    "/api/v1/mcps/{mcp_id}/bindings",
    status_code=201,
    response_model=BindingAnswer,
    responses=refused(409),
)
async def bind_tool(
    mcp_id: McpId, body: BindingBody, caller: MayManage, use: UseBindings, once: Idempotent
) -> Response:
    """Puts a Search Tool into an MCP instance."""

    def bind() -> JSONResponse:
        bound = use.add(caller, mcp_id, body.tool_id, status=body.status)
        return BindingAnswer.about(bound).response(201)

    return once.answer(caller.project_id, bind)


@router.get("/api/v1/mcps/{mcp_id}/bindings")
async def list_bindings(
    mcp_id: McpId, caller: MayManage, store: Stored, cursor: Cursor = 0
) -> BindingsAnswer:
    """Returns the tools of an MCP instance, disabled ones too, with the names agents see."""
    with store.for_project(caller.project_id) as work:
        mcp = own_mcp(work, caller, mcp_id)
        page = page_of_bindings(work, mcp, after=cursor)
    return BindingsAnswer.about(page)


@router.patch("/api/v1/mcps/{mcp_id}/bindings/{tool_id}", responses=refused(409))
async def change_binding(
    mcp_id: McpId, tool_id: ToolId, body: ChangeBindingBody, caller: MayManage, use: UseBindings
) -> BindingAnswer:
    """Enables or disables a tool in an MCP instance."""
    bound = use.set_status(caller, mcp_id, tool_id, status=body.status)
    return BindingAnswer.about(bound)


@router.delete("/api/v1/mcps/{mcp_id}/bindings/{tool_id}", status_code=204, responses=refused(409))
async def unbind_tool(
    mcp_id: McpId, tool_id: ToolId, caller: MayManage, use: UseBindings
) -> Response:
    """Takes a tool out of an MCP instance."""
    use.remove(caller, mcp_id, tool_id)
    return Response(status_code=204)


async def _keys(mcp_id: McpId, caller: MayManage, use: UseKeys, audit: Audited) -> Keys:
    return Keys(use, caller, mcp_id, audit)


McpKeys = Annotated[Keys, Depends(_keys)]


@router.post("/api/v1/mcps/{mcp_id}/keys", **MAKES_KEY)
async def create_mcp_key(keys: McpKeys, body: CreateMcpKeyBody, once: Idempotent) -> Response:
    """Makes a further key for an MCP instance, which is shown this once."""
    return keys.create(once, body.options())


@router.get("/api/v1/mcps/{mcp_id}/keys")
async def list_mcp_keys(
    mcp_id: McpId,
    caller: MayManage,
    store: Stored,
    cursor: Cursor = 0,
    actor: Actor | None = None,
) -> KeysAnswer:
    """Returns the keys of an MCP instance without their texts, or those of an actor."""
    with store.for_project(caller.project_id) as work:
        page = page_of_keys(work, caller, mcp_id, after=cursor, actor=actor)
    return KeysAnswer.about(page)


@router.delete("/api/v1/mcps/{mcp_id}/keys/{key_id}", status_code=204, responses=refused(409))
async def revoke_mcp_key(keys: McpKeys, key_id: KeyId) -> Response:
    """Revokes a key of an MCP instance."""
    return keys.revoke(key_id)


@router.post("/api/v1/mcps/{mcp_id}/keys/{key_id}/rotate", **MAKES_KEY)
async def rotate_mcp_key(
    keys: McpKeys, key_id: KeyId, once: Idempotent, body: RotateKeyBody | None = None
) -> Response:
    """Makes an MCP key like this one, which goes on for ``old_expires_in`` seconds."""
    return keys.rotate(once, key_id, body)


@router.get("/internal/mcp-v2/{api_key}", dependencies=[InternalOnly])
async def describe_mcp(api_key: Annotated[str, Path(max_length=200)], use: Use) -> McpRpcAnswer:
    """Returns the instance that a key opens with its enabled tools, for an MCP service."""
    mcp, bound = use.describe(api_key)
    return McpRpcAnswer.of(mcp, api_key, bound)
