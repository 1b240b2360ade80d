"""The tools that agents replace with, as models read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel

from context_search.agents.tools.arguments import arguments_schema
from context_search.agents.tools.results import flat_schema
from context_search.agents.tools.search_tools import QUOTED
from context_search.core.callers import Replacing, TextsOf
from context_search.mcp.contract import ToolDescription
from context_search_editing.agents.replace_answers import (
    ExecuteArguments,
    ExecuteResult,
    PreviewArguments,
    PreviewResult,
    UndoArguments,
    UndoResult,
)


def _tool(
    name: str,
    title: str,
    description: str,
    arguments: type[BaseModel],
    result: type[BaseModel],
    *,
    writes: bool,
) -> ToolDescription:
    return ToolDescription(
        name=name,
        title=title,
        description=description,
        input_schema=arguments_schema(arguments),
        output_schema=flat_schema(result),
        annotations={
            "title": title,
            "readOnlyHint": not writes,
            "destructiveHint": writes,
            "idempotentHint": True,
        },
    )


_PREVIEW = _tool(
    "replace_preview",
    "Preview a replacement",
    "Finds every place where a text stands in the documents that the search tools here search, and "
    "shows what each would become. Changes nothing. It makes a plan: the result has its plan_id "
    "and digest, how many places would change, and the first of them. It is the first "
    "step of changing a name, word or sentence everywhere. The text is found exactly as it is "
    f"written, not by meaning: searches show how it is written. {QUOTED}",
    PreviewArguments,
    PreviewResult,
    writes=False,
)
_EXECUTE = _tool(
    "replace_execute",
    "Carry out a replacement",
    "Carries out a plan of replace_preview: changes all the places that it found, and nothing "
    "else. It takes plan_id and digest exactly as that result has them. The user may be asked "
    "before. If one of the texts has changed since the preview, nothing is changed and the error "
    "REPLACE_STALE says so; a new preview finds them as they are. Calling it twice does it once. "
    "It can be taken back with replace_undo.",
    ExecuteArguments,
    ExecuteResult,
    writes=True,
)
_UNDO = _tool(
    "replace_undo",
    "Take a replacement back",
    "Takes an executed plan back: every place that it changed becomes what it was before. Places "
    "that somebody has edited since stay as they are; the result counts and lists them. The undo "
    "is a plan, too, with a plan_id of its own: undoing that one does the replacement again.",
    UndoArguments,
    UndoResult,
    writes=True,
)


def tools_of(replacing: Replacing, texts: TextsOf = "anyone") -> Sequence[ToolDescription]:
    """Returns the tools that agents of an instance see beside its Search Tools."""
    tools = {"off": (), "propose": (_PREVIEW,), "execute": (_PREVIEW, _EXECUTE, _UNDO)}[replacing]
    world = {"openWorldHint": texts == "anyone"}
    return [replace(tool, annotations={**tool.annotations, **world}) for tool in tools]
