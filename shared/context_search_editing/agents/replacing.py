"""The tools that agents replace with, and who agrees before they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aws_lambda_powertools import Logger
from pydantic import BaseModel

from context_search.agents.list_tools import ListTools
from context_search.agents.tools.arguments import read_arguments
from context_search.agents.tools.results import trimmed
from context_search.core.callers import McpInstance, McpKey, Replacing, TextsOf
from context_search.core.errors import (
    ConflictError,
    DigestMismatchError,
    InvalidInputError,
    PlanExpiredError,
    PlanNotReadyError,
    ReplaceBusyError,
    ReplaceStaleError,
    ReplaceTooLargeError,
)
from context_search.mcp.contract import (
    ClientInput,
    InputRequired,
    ToolDescription,
    ToolFailure,
    ToolResult,
    UnknownToolError,
)
from context_search.reading.rules.visible_strings import VisibleStrings
from context_search.reading.visible import visible_to
from context_search.searching.retrieve import RedactHits
from context_search.web.request_body import request_id
from context_search_editing.agents.asking import Asking, for_a_person, question, question_of_undo
from context_search_editing.agents.confirmations import Confirmations, PlanOperation
from context_search_editing.agents.replace_answers import (
    ExecuteArguments,
    ExecuteResult,
    PreviewArguments,
    PreviewResult,
    Refusal,
    UndoArguments,
    UndoResult,
)
from context_search_editing.agents.replace_tools import tools_of
from context_search_editing.executing import ExecutedPlan, ExecutePlans
from context_search_editing.previewing import AskedReplacement, PreviewReplacements, ShownPlan
from context_search_editing.rules.plans import Choice, Plan
from context_search_editing.rules.redacted_edits import redacted
from context_search_editing.showing import ShowMatches, ShownMatch
from context_search_editing.undoing import UndoPlans

_log = Logger(service="search", child=True)

SAMPLES = 20
"""Number of matches that a preview shows to an agent."""
MAX_OPEN = 10
"""Maximum number of plans of an instance that may be executed: half of what its project has."""


@dataclass(frozen=True, slots=True)
class ReplaceUseCases:
    """Implements ``ReplaceTools``: what agents replace with."""

    preview: PreviewReplacements
    matches: ShowMatches
    execute: ExecutePlans
    undo: UndoPlans
    confirmations: Confirmations
    tools: ListTools
    redaction: RedactHits

    def tools_of(self, replacing: Replacing, texts: TextsOf) -> Sequence[ToolDescription]:
        """See ``ReplaceTools``."""
        return tools_of(replacing, texts)

    def call(
        self,
        principal: McpKey,
        instance: McpInstance,
        client: ClientInput,
        name: str,
        arguments: Mapping[str, object],
    ) -> ToolResult | InputRequired:
        """See ``ReplaceTools``."""
        return AgentReplacing(principal, instance, client, self).call(name, arguments)


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
        try:
            match name:
                case "replace_preview":
                    return self._preview(read_arguments(PreviewArguments, arguments))
                case "replace_execute":
                    return self._execute(read_arguments(ExecuteArguments, arguments))
                case _:
                    return self._undo(read_arguments(UndoArguments, arguments).plan_id)
        except ReplaceStaleError as error:
            raise ReplaceStaleError(error.message, members=_without_places(error)) from error

    def _preview(self, arguments: PreviewArguments) -> ToolResult:
        shown = self._again(arguments) if arguments.plan_id else self._begun(arguments)
        plan = shown.plan
        if plan.state == "failed" and plan.last_error:
            raise ToolFailure(422, plan.last_error["code"], plan.last_error["message"])
        if plan.state not in ("previewing", "ready"):
            raise PlanExpiredError("the plan is over: preview again, without plan_id")
        if plan.state == "ready" and not plan.counts.matches:
            self.use.preview.cancel(self.principal, plan.id)
            shown = replace(shown, plan=replace(plan.cancelled(), digest=None))
        _report("agent previewed", plan, places=plan.counts.matches, tables=plan.counts.tables)
        result = PreviewResult.of(shown, self._samples(shown), self._after_preview(shown.plan))
        return _fitted(result, "matches", "tables")

    def _begun(self, arguments: PreviewArguments) -> ShownPlan:
        """A new plan, for which the oldest open one of the instance makes room.

        Not where agents propose: a person may be about to execute it.
        """
        tool_id, places = self._where(arguments.search_tool)
        asked = AskedReplacement(
            request=arguments.request,
            tool_id=tool_id,
            places=places,
            samples=SAMPLES,
            mcp_id=self.principal.mcp_id,
        )
        now = self.use.confirmations.clock.now()
        plans = self.use.preview.page(self.principal, below=None).rows
        is_open = ("previewing", "ready")
        there = [plan for plan in plans if plan.state in is_open and plan.expires_at > now]
        if self.instance.replacing == "propose" and len(there) >= MAX_OPEN:
            raise ReplaceBusyError(
                f"{MAX_OPEN} proposals wait for a person, who can execute or cancel them",
                retry_after_s=(min(plan.expires_at for plan in there) - now).total_seconds(),
            )
        for old in there[MAX_OPEN - 1 :]:
            self.use.preview.cancel(self.principal, old.id)
        return self.use.preview.start(self.principal, asked, request_id=request_id())

    def _again(self, arguments: PreviewArguments) -> ShownPlan:
        """A plan that was ``previewing`` when it was made, where the agent may still look."""
        shown = self.use.preview.read(self.principal, arguments.plan_id)
        if shown.plan.request != arguments.request:
            raise InvalidInputError("plan_id: that plan has another find or replace_with")
        visible = self._visible()
        if not all(visible.covers(*place) for place in shown.plan.scope.places or ()):
            raise PlanExpiredError("no search tool here looks there any more: preview again")
        return shown

    def _samples(self, shown: ShownPlan) -> Sequence[ShownMatch]:
        if shown.matches or shown.plan.state != "ready":
            return self._redacted(shown.matches)
        return self._redacted(self._first(shown.plan))

    def _first(self, plan: Plan) -> Sequence[ShownMatch]:
        return self.use.matches.page(self.principal, plan.id, limit=SAMPLES).rows

    def _whole(self, plan: Plan) -> Sequence[ShownMatch]:
        """Raises ReplaceStaleError where the agent may not see all of the plan any more.

        So not even the number of matches is told then.
        """
        return self._redacted([each for each in self._first(plan) if each.edit.is_whole])

    def _redacted(self, matches: Sequence[ShownMatch]) -> Sequence[ShownMatch]:
        if not self.principal.redacts:
            return matches
        kinds = self.use.redaction.kinds(self.principal.project_id)
        return [replace(match, edit=redacted(match.edit, kinds)) for match in matches]

    def _after_preview(self, plan: Plan) -> str:
        if plan.state == "previewing":
            return (
                "The preview is still going on. Call replace_preview again with the same find and "
                f"replace_with and plan_id {plan.id}."
            )
        if plan.state == "cancelled":
            return (
                "Nothing would change. Look at how the text is written in the documents, or try "
                "case_sensitive false."
            )
        if self.instance.replacing == "propose":
            return (
                "Nothing is changed yet, and you cannot carry it out. Tell your user the plan_id: "
                f"{for_a_person(plan, 'execute')}"
            )
        return (
            "Nothing is changed yet. Tell your user what would change. To carry it out, call "
            "replace_execute with this plan_id and digest before expires_at."
        )

    def _execute(self, arguments: ExecuteArguments) -> ToolResult | InputRequired:
        plan = self.use.preview.read(self.principal, arguments.plan_id).plan
        digest = bytes.fromhex(arguments.digest)
        if plan.state == "previewing":  # it may be ready the next moment, and no person was asked
            raise PlanNotReadyError("the preview is still going on", retry_after_s=1)
        if plan.state == "ready":
            if plan.digest != digest:
                raise DigestMismatchError(
                    "the plan shows something else than this digest stands for"
                )
            operation = PlanOperation("execute", plan.id, digest)
            refusal = self._asking.ask(
                operation, plan, lambda: question(plan, self._whole(plan)), shown=plan
            )
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
        )
        _report("agent executed", done.plan, places=done.done_count, tables=len(done.tables))
        return _fitted(ExecuteResult.of(done, _after_executing(done)), "tables")

    def _undo(self, plan_id: int) -> ToolResult | InputRequired:
        plan = self.use.preview.read(self.principal, plan_id).plan
        operation = PlanOperation("undo", plan_id, plan.digest or b"")
        replaced, again = self._replaced_first(plan)
        refusal = self._asking.ask(
            operation,
            plan,
            lambda: self._question_of_undo(plan, replaced, again=again),
            shown=replaced,
        )
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
        )
        _report("agent undid", done.plan, places=done.done_count, tables=len(done.tables))
        result = UndoResult.of(plan_id, done, _after_undoing(done))
        return _fitted(result, "kept", "tables")

    def _replaced_first(self, plan: Plan) -> tuple[Plan, bool]:
        """The plan that a chain of undos began with, and whether undoing the last replaces again.

        An undo holds no texts of its own.
        """
        again = False
        while plan.undoes is not None:
            plan, again = self.use.preview.read(self.principal, plan.undoes).plan, not again
        return plan, again

    def _question_of_undo(self, plan: Plan, replaced: Plan, *, again: bool) -> str:
        """What a person is asked; raises as the undo itself would."""
        try:
            counted = self.use.undo.undo(
                self.principal,
                plan.id,
                on_conflict="skip",
                dry_run=True,
                request_id=None,
            )
        except ReplaceTooLargeError:
            return question_of_undo(plan, replaced, again=again)
        done, kept = counted.done_count, counted.kept_count
        return question_of_undo(plan, replaced, again=again, done=done, kept=kept)

    @property
    def _asking(self) -> Asking:
        return Asking(self.principal, self.instance, self.client, self.use.confirmations)

    def _visible(self) -> VisibleStrings:
        with self.use.tools.store.for_project(self.principal.project_id) as work:
            return visible_to(work, self.principal)

    def _where(self, tool_name: str) -> tuple[int | None, tuple[tuple[int, str], ...]]:
        """Where the agent looks: where the named tool searches, or any of them does.

        Raises InvalidInputError for a name that is not listed, ConflictError without any tool.
        """
        if tool_name:
            tool = self.use.tools.find(self.principal, tool_name)
            if tool is None:
                raise InvalidInputError("search_tool: no search tool here has this name")
            return tool.id, ((tool.scope.table_id, tool.scope.json_pointer),)
        scopes = self._visible().scopes
        if not scopes:
            raise ConflictError("there is no search tool here, so there is nothing to replace in")
        return None, tuple((scope.table_id, scope.json_pointer) for scope in scopes)


_AFTER_REFUSAL = "Nothing was changed: your user did not agree. Ask what they want instead."


def _report(what: str, plan: Plan, *, places: int, tables: int) -> None:
    """Writes what an agent did: ids and counts."""
    fields = {
        "request_id": request_id(),
        "mcp_id": plan.mcp_id,
        "plan_id": plan.id,
        "undoes": plan.undoes,
        "state": plan.state,
        "request_hmac": plan.request_hmac.hex(),
        "places": places,
        "tables": tables,
    }
    _log.info(what, extra=fields)


def _without_places(error: ReplaceStaleError) -> Mapping[str, object]:
    """Where strings have moved may be nothing that the agent's tools search."""
    changed = error.members.get("changed")
    rows = changed if isinstance(changed, list) else []
    reported = [{name: row[name] for name in row if name != "moved_to"} for row in rows]
    return {**error.members, "changed": reported}


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
    if done.plan.state == "failed":
        return "Nothing came back: somebody changed every place. The plan can still be undone."
    return f"Everything is as it was before. {again}"


def _refused(untouched: ExecuteResult | UndoResult, refusal: Refusal) -> ToolResult:
    return _fitted(untouched.model_copy(update={"user": refusal}), "tables")


def _fitted(result: BaseModel, *lists: str) -> ToolResult:
    answer: dict[str, Any] = result.model_dump(mode="json")
    return ToolResult(trimmed(answer, *lists))
