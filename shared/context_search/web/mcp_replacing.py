"""The tools that agents replace with, and who agrees before they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from context_search.domain.access import McpInstance, McpKey, Replacing
from context_search.domain.editing.plans import Choice, Plan, ReplaceScope
from context_search.domain.errors import (
    ConflictError,
    DigestMismatchError,
    InvalidInputError,
    PlanExpiredError,
    PlanNotReadyError,
    ReplaceTooLargeError,
)
from context_search.domain.text.plain_text import without_hidden_characters
from context_search.mcp.contract import (
    ClientInput,
    Form,
    InputRequired,
    RequestStateError,
    ToolDescription,
    ToolFailure,
    ToolResult,
    UnknownToolError,
)
from context_search.services.catalog.list_tools import ListTools
from context_search.services.editing.confirmations import Confirmations, Deed
from context_search.services.editing.execute import ExecutedPlan, ExecutePlans
from context_search.services.editing.look_through import ShownMatch
from context_search.services.editing.preview import (
    AskedReplacement,
    PreviewReplacements,
    ShownPlan,
)
from context_search.services.editing.show_matches import ShowMatches
from context_search.services.editing.undo import UndoPlans
from context_search.web.border import request_id
from context_search.web.mcp_replace_answers import (
    ExecuteArguments,
    ExecuteResult,
    PreviewArguments,
    PreviewResult,
    Refusal,
    UndoArguments,
    UndoResult,
    arguments_schema,
    read_arguments,
)
from context_search.web.mcp_tools import flat_schema, trimmed

SAMPLES = 20
"""Number of matches that a preview shows to an agent."""
_ASKED = "confirm"
_SHOWN_CHARS = 200
_FORM: Mapping[str, object] = {
    "type": "object",
    "properties": {
        _ASKED: {"type": "boolean", "title": "Do it", "description": "Whether it is to be done."}
    },
    "required": [_ASKED],
}


def _tool(  # noqa: PLR0913 - a description has as many parts
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
            "readOnlyHint": not writes,
            **({"destructiveHint": True} if writes else {}),
            "idempotentHint": True,
            "openWorldHint": False,
        },
    )


_PREVIEW = _tool(
    "replace_preview",
    "Preview a replacement",
    "Finds every place where a text stands in the documents that the search tools here search, and "
    "shows what each would become. Changes nothing. It makes a plan: the result has its plan_id "
    "and digest, how many places would change, and the first of them. To change one name, word or "
    "sentence everywhere, begin with this. The text is found exactly as it is written, not by "
    "meaning: if you do not know how it is written, search first.",
    PreviewArguments,
    PreviewResult,
    writes=False,
)
_EXECUTE = _tool(
    "replace_execute",
    "Carry out a replacement",
    "Carries out a plan of replace_preview: changes all the places that it found, and nothing "
    "else. Give plan_id and digest exactly as that result has them. Your user may be asked before. "
    "If one of the texts has changed since the preview, nothing is changed and the error "
    "REPLACE_STALE says so: preview again. Calling it twice does it once. It can be taken back "
    "with replace_undo.",
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


def tools_of(replacing: Replacing) -> Sequence[ToolDescription]:
    """Returns the tools that agents of an instance see beside its Search Tools."""
    return {"off": (), "propose": (_PREVIEW,), "execute": (_PREVIEW, _EXECUTE, _UNDO)}[replacing]


@dataclass(frozen=True, slots=True)
class ReplaceUseCases:
    """What agents replace with."""

    preview: PreviewReplacements
    matches: ShowMatches
    execute: ExecutePlans
    undo: UndoPlans
    confirmations: Confirmations
    tools: ListTools


@dataclass(frozen=True, slots=True)
class AgentReplacing:
    """One call of an agent, whose instance has opted in, from a client."""

    principal: McpKey
    instance: McpInstance
    client: ClientInput
    use: ReplaceUseCases

    def call(self, name: str, arguments: Mapping[str, object]) -> ToolResult | InputRequired:
        """Calls a tool that the instance's agents see. Raises UnknownToolError for others."""
        if name not in {tool.name for tool in tools_of(self.instance.replacing)}:
            raise UnknownToolError("there is no such tool")
        match name:
            case "replace_preview":
                return self._preview(read_arguments(PreviewArguments, arguments))
            case "replace_execute":
                return self._execute(read_arguments(ExecuteArguments, arguments))
            case _:
                return self._undo(read_arguments(UndoArguments, arguments).plan_id)

    def _preview(self, arguments: PreviewArguments) -> ToolResult:
        if arguments.plan_id:
            shown = self.use.preview.read(self.principal, arguments.plan_id)
            if shown.plan.request != arguments.request:
                raise InvalidInputError("plan_id: that plan has another find or replace_with")
        else:
            asked = AskedReplacement(
                request=arguments.request,
                places=self._places(arguments.search_tool),
                samples=SAMPLES,
                mcp_id=self.principal.mcp_id,
            )
            shown = self.use.preview.start(self.principal, asked, request_id=request_id())
        plan = shown.plan
        if plan.state == "failed" and plan.last_error:
            raise ToolFailure(422, plan.last_error["code"], plan.last_error["message"])
        if plan.state not in ("previewing", "ready"):
            raise PlanExpiredError("the plan is over: preview again, without plan_id")
        result = PreviewResult.of(shown, self._samples(shown), self._after_preview(plan))
        return _fitted(result, "matches", "tables")

    def _samples(self, shown: ShownPlan) -> Sequence[ShownMatch]:
        if shown.matches or shown.plan.state != "ready":
            return shown.matches
        return self.use.matches.page(self.principal, shown.plan.id, limit=SAMPLES).rows

    def _after_preview(self, plan: Plan) -> str:
        if plan.state == "previewing":
            return (
                "The preview is still going on. Call replace_preview again with the same find and "
                f"replace_with and plan_id {plan.id}."
            )
        if not plan.counts.matches:
            return (
                "Nothing would change. Look at how the text is written in the documents, or try "
                "case_sensitive false."
            )
        if self.instance.replacing == "propose":
            return (
                "Nothing is changed yet, and you cannot carry it out. Tell your user the plan_id: "
                f"{self._for_a_person(plan)}"
            )
        return (
            "Nothing is changed yet. Tell your user what would change. To carry it out, call "
            "replace_execute with this plan_id and digest before expires_at."
        )

    def _for_a_person(self, plan: Plan, act: str = "execute") -> str:
        root = f"/api/v1/projects/{plan.project_id}/replace"
        where = f"{root}/execute" if act == "execute" else f"{root}/{plan.id}/undo"
        return f"a person who may replace in the project can {act} plan {plan.id} (POST {where})."

    def _execute(self, arguments: ExecuteArguments) -> ToolResult | InputRequired:
        plan = self.use.preview.read(self.principal, arguments.plan_id).plan
        digest = bytes.fromhex(arguments.digest)
        if plan.state == "previewing":  # it may be ready the next moment, and nobody was asked
            raise PlanNotReadyError("the preview is still going on", retry_after_s=1)
        if plan.state == "ready":
            if plan.digest != digest:
                raise DigestMismatchError("the plan shows something else than this digest stands for")
            refusal = self._ask(Deed("execute", plan.id, digest), plan, _question(plan))
            if isinstance(refusal, InputRequired):
                return refusal
            if refusal:
                return _refused(ExecuteResult.of(ExecutedPlan(plan), _AFTER_REFUSAL), refusal)
        done = self.use.execute.execute(
            self.principal,
            plan.id,
            digest,
            Choice(),
            request_id=request_id(),
            within=self._within(),
        )
        return _fitted(ExecuteResult.of(done, _after_executing(done)), "tables")

    def _undo(self, plan_id: int) -> ToolResult | InputRequired:
        plan = self.use.preview.read(self.principal, plan_id).plan
        deed = Deed("undo", plan_id, plan.digest or b"")
        refusal = self._ask(deed, plan, self._question_of_undo(plan) if self._asks else "")
        if isinstance(refusal, InputRequired):
            return refusal
        if refusal:
            untouched = UndoResult.of(plan_id, ExecutedPlan(plan), _AFTER_REFUSAL)
            return _refused(untouched, refusal)
        done = self.use.undo.undo(
            self.principal,
            plan_id,
            on_conflict="skip",
            dry_run=False,
            request_id=request_id(),
            within=self._within(),
        )
        result = UndoResult.of(plan_id, done, _after_undoing(done))
        return _fitted(result, "kept", "tables")

    def _question_of_undo(self, plan: Plan) -> str:
        """What a person is asked; raises as the undo itself would."""
        try:
            counted = self.use.undo.undo(
                self.principal,
                plan.id,
                on_conflict="skip",
                dry_run=True,
                request_id=None,
                within=self._within(),
            )
        except ReplaceTooLargeError:
            return f"Take back what plan {plan.id} has done{_texts(plan)}?"
        places = _counted(counted.done_count, "place")
        stay = f" {_counted(counted.kept_count, 'place')} edited since will stay as they are."
        return (
            f"Take back what plan {plan.id} has done{_texts(plan)}, in {places}?"
            f"{stay if counted.kept_count else ''}"
        )

    @property
    def _asks(self) -> bool:
        return self.client.takes_forms

    def _ask(self, deed: Deed, plan: Plan, message: str) -> InputRequired | Refusal | None:
        """Returns a question that has to be put first, or that somebody said no; None: go on.

        Raises RequestStateError for a state that was not made for this, and ToolFailure
        ``CONFIRMATION_UNAVAILABLE``.
        """
        client, confirmations = self.client, self.use.confirmations
        if not self._asks:
            if self.instance.confirmation == "client":
                return None
            raise _unavailable(plan, self._for_a_person(plan, deed.act))
        if client.state is not None and not confirmations.is_good(
            client.state, self.principal, deed
        ):
            raise RequestStateError
        answer = client.answers.get(_ASKED) if client.state is not None else None
        said = answer.content.get(_ASKED) if answer and answer.action == "accept" else None
        if answer is None or (answer.action == "accept" and not isinstance(said, bool)):
            state = confirmations.state_of(self.principal, deed)
            return InputRequired({_ASKED: Form(message, _FORM)}, state)
        if answer.action == "cancel":
            return "cancelled"
        return None if said else "declined"

    def _within(self) -> ReplaceScope:
        return ReplaceScope(places=self._places(""))

    def _places(self, tool_name: str) -> tuple[tuple[int, str], ...]:
        """Where the agent may replace now: what the named tool searches, or what any of them does.

        Raises InvalidInputError for a name that is not listed, ConflictError without any tool.
        """
        if tool_name:
            tool = self.use.tools.find(self.principal, tool_name)
            if tool is None:
                raise InvalidInputError("search_tool: no search tool here has this name")
            return ((tool.scope.table_id, tool.scope.json_pointer),)
        scopes = self.use.tools.scopes(self.principal)
        if not scopes:
            raise ConflictError("there is no search tool here, so there is nothing to replace in")
        return tuple(sorted({(scope.table_id, scope.json_pointer) for scope in scopes}))


_AFTER_REFUSAL = "Nothing was changed: your user did not agree. Ask what they want instead."


def _unavailable(plan: Plan, who_can: str) -> ToolFailure:
    message = f"somebody has to agree first, and this client cannot ask: {who_can}"
    return ToolFailure(409, "CONFIRMATION_UNAVAILABLE", message, members={"plan_id": plan.id})


def _question(plan: Plan) -> str:
    counts, request = plan.counts, plan.request
    if request is None:
        raise PlanExpiredError("the texts of the plan are forgotten: preview again")
    matches, tables = _counted(counts.matches, "match"), _counted(counts.tables, "document")
    what = "Delete" if not request.replace_with else "Replace"
    kind = " of the pattern" if request.regex else ""
    return f"{what} {matches}{kind} in {tables}{_texts(plan)}?"


def _texts(plan: Plan) -> str:
    request = plan.request
    if request is None:
        return ""
    becomes = f" → “{_shown(request.replace_with)}”" if request.replace_with else ""
    return f": “{_shown(request.find)}”{becomes}"


def _shown(text: str) -> str:
    """A text in one line, that looks like nothing but itself, for a person who decides."""
    line = without_hidden_characters(" ".join(text.split()))
    return line if len(line) <= _SHOWN_CHARS else f"{line[:_SHOWN_CHARS]}…"


def _counted(count: int, word: str) -> str:
    plural = "es" if word.endswith("ch") else "s"
    return f"{count:,} {word}{'' if count == 1 else plural}"


def _after_executing(done: ExecutedPlan) -> str:
    plan = done.plan
    match plan.state:
        case "executing":
            return "Still going on. Call replace_execute again with the same plan_id and digest."
        case "done":
            return f"Done. replace_undo with plan_id {plan.id} takes it back, until undo_until."
        case "partial":
            return (
                "Documents with the state skipped were not changed, for the reason that stands "
                f"there: preview again for them. replace_undo with plan_id {plan.id} takes back "
                "what was done."
            )
    return "It has failed. Preview again."


def _after_undoing(done: ExecutedPlan) -> str:
    again = f"replace_undo with plan_id {done.plan.id} does the replacement again."
    if done.plan.state == "executing":
        return f"Still going on in the background. {again}"
    if done.plan.state == "partial":
        return f"What is listed as kept or skipped stays as it is: somebody changed it. {again}"
    return f"Everything is as it was before. {again}"


def _refused(untouched: ExecuteResult | UndoResult, refusal: Refusal) -> ToolResult:
    return _fitted(untouched.model_copy(update={"user": refusal}), "tables")


def _fitted(result: BaseModel, *lists: str) -> ToolResult:
    answer: dict[str, Any] = result.model_dump(mode="json")
    return ToolResult(trimmed(answer, *lists))
