"""Who agrees before an agent replaces something: questions to the user behind the client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from context_search.domain.access import McpInstance, McpKey
from context_search.domain.editing.plans import Plan
from context_search.domain.errors import PlanExpiredError
from context_search.domain.text.plain_text import without_hidden_characters
from context_search.mcp.contract import (
    ClientInput,
    Form,
    InputRequired,
    RequestStateError,
    ToolFailure,
)
from context_search.services.editing.confirmations import Confirmations, PlanOperation
from context_search.web.agents.replace_answers import Refusal

_ASKED = "confirm"
_SHOWN_CHARS = 200
_FORM: Mapping[str, object] = {
    "type": "object",
    "properties": {
        _ASKED: {"type": "boolean", "title": "Do it", "description": "Whether it is to be done."}
    },
    "required": [_ASKED],
}


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks, or finds the answer, for one call of an agent."""

    principal: McpKey
    instance: McpInstance
    client: ClientInput
    confirmations: Confirmations

    def ask(
        self, operation: PlanOperation, plan: Plan, question_of: Callable[[Plan], str]
    ) -> InputRequired | Refusal | None:
        """Returns a question that has to be put first, or that the user did not agree.

        None: go on. Raises RequestStateError for a state that was not made for this, and
        ToolFailure ``CONFIRMATION_UNAVAILABLE``.
        """
        client, confirmations = self.client, self.confirmations
        if not client.takes_forms:
            if self.instance.confirmation == "client":  # it has our annotations to go by
                return None
            raise _unavailable(plan, operation)
        if client.state is not None and not confirmations.is_good(
            client.state, self.principal, operation
        ):
            raise RequestStateError
        answer = client.answers.get(_ASKED) if client.state is not None else None
        said = answer.content.get(_ASKED) if answer else None
        if answer is None or (answer.action == "accept" and not isinstance(said, bool)):
            state = confirmations.state_of(self.principal, operation)
            return InputRequired({_ASKED: Form(question_of(plan), _FORM)}, state)
        if answer.action == "cancel":
            return "cancelled"
        return None if answer.action == "accept" and said else "declined"


def _unavailable(plan: Plan, operation: PlanOperation) -> ToolFailure:
    who_can = for_a_person(plan, operation.kind)
    message = f"somebody has to agree first, and this client cannot ask: {who_can}"
    return ToolFailure(409, "CONFIRMATION_UNAVAILABLE", message, members={"plan_id": plan.id})


def for_a_person(plan: Plan, act: Literal["execute", "undo"]) -> str:
    """Returns who can do it, and how."""
    root = f"/api/v1/projects/{plan.project_id}/replace"
    where = f"{root}/execute" if act == "execute" else f"{root}/{plan.id}/undo"
    return f"a person who may replace in the project can {act} plan {plan.id} (POST {where})."


def question(plan: Plan) -> str:
    """Returns what somebody is asked before a plan is executed. Raises PlanExpiredError."""
    counts, request = plan.counts, plan.request
    if request is None:
        raise PlanExpiredError("the texts of the plan are forgotten: preview again")
    what = "Replace" if request.replace_with else "Delete"
    kind = " of the pattern" if request.regex else ""
    matches, tables = _counted(counts.matches, "match"), _counted(counts.tables, "document")
    return f"{what} {matches}{kind} in {tables}{_texts(plan)}?"


def question_of_undo(plan: Plan, *, done: int | None = None, kept: int = 0) -> str:
    """Returns what somebody is asked before a plan is taken back; ``done`` None: not counted."""
    places = "" if done is None else f", in {_counted(done, 'place')}"
    stay = f" {_counted(kept, 'place')} edited since will stay as they are." if kept else ""
    return f"Take back what plan {plan.id} has done{_texts(plan)}{places}?{stay}"


def _texts(plan: Plan) -> str:
    request = plan.request
    if request is None:
        return ""
    becomes = f" → “{_shown(request.replace_with)}”" if request.replace_with else ""
    return f": “{_shown(request.find)}”{becomes}"


def _shown(text: str) -> str:
    """A text in one line that looks like nothing but itself to a person who decides."""
    line = without_hidden_characters(" ".join(text.split()))
    return line if len(line) <= _SHOWN_CHARS else f"{line[:_SHOWN_CHARS]}…"


def _counted(count: int, word: str) -> str:
    plural = "es" if word.endswith("ch") else "s"
    return f"{count:,} {word}{'' if count == 1 else plural}"
