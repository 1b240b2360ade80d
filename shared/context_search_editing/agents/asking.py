"""Who agrees before an agent replaces something: questions to the user behind the client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from context_search.core.callers import McpInstance, McpKey
from context_search.core.errors import PlanExpiredError
from context_search.mcp.contract import (
    ClientInput,
    Form,
    InputRequired,
    RequestStateError,
    ToolFailure,
)
from context_search.text.plain_text import with_hidden_characters_named
from context_search_editing.agents.confirmations import Confirmations, PlanOperation
from context_search_editing.agents.replace_answers import Refusal
from context_search_editing.rules.plans import Plan
from context_search_editing.showing import ShownMatch

_ASKED = "confirm"
_SHOWN_CHARS = 1_000
"""Maximum length of a shown text. A longer one is not asked about: people would not read it."""
_SAMPLES = 3
"""Maximum number of matches of a pattern that a question shows."""
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
        self,
        operation: PlanOperation,
        plan: Plan,
        question_of: Callable[[], str],
        *,
        shown: Plan,
    ) -> InputRequired | Refusal | None:
        """Returns a question that has to be put first, or that the user did not agree.

        None: go on. ``shown`` is the plan with the texts that are in the question. Raises
        RequestStateError for a state that was not made for this, and ToolFailure
        ``CONFIRMATION_UNAVAILABLE``, also where the texts do not fit into a question.
        """
        client, confirmations = self.client, self.confirmations
        if not client.takes_forms:
            if self.instance.confirmation == "client":  # it has our annotations to go by
                return None
            raise _unavailable(plan, operation.kind, "this client cannot ask")
        if client.state is not None and not confirmations.is_good(
            client.state, self.principal, operation
        ):
            raise RequestStateError
        if not _can_be_shown(shown):
            raise _unavailable(
                plan, operation.kind, "the texts are too long to be shown in a question"
            )
        answer = client.answers.get(_ASKED) if client.state is not None else None
        said = answer.content.get(_ASKED) if answer else None
        if answer is None or (answer.action == "accept" and not isinstance(said, bool)):
            state = confirmations.state_of(self.principal, operation)
            return InputRequired({_ASKED: Form(question_of(), _FORM)}, state)
        if answer.action == "cancel":
            return "cancelled"
        return None if answer.action == "accept" and said else "declined"


def _unavailable(plan: Plan, act: Literal["execute", "undo"], why: str) -> ToolFailure:
    who_can = for_a_person(plan, act)
    message = f"somebody has to agree first, and {why}: {who_can}"
    return ToolFailure(409, "CONFIRMATION_UNAVAILABLE", message, members={"plan_id": plan.id})


def for_a_person(plan: Plan, act: Literal["execute", "undo"]) -> str:
    """Returns who can do it, and how."""
    root = f"/api/v1/projects/{plan.project_id}/replace"
    where = f"{root}/execute" if act == "execute" else f"{root}/{plan.id}/undo"
    return f"a person who may replace in the project can {act} plan {plan.id} (POST {where})."


def question(plan: Plan, whole: Sequence[ShownMatch]) -> str:
    """Returns the question for a person before a plan is executed.

    A pattern alone does not show what it finds, so the question shows some of its matches.
    ``whole``: those among the first that can be shown to their ends. Raises PlanExpiredError, and
    ToolFailure ``CONFIRMATION_UNAVAILABLE`` for a pattern without any.
    """
    counts, texts = plan.counts, _texts(plan)
    what = "Replace" if plan.request and plan.request.replace_with else "Delete"
    is_pattern = plan.request is not None and plan.request.regex
    kind = " of the pattern" if is_pattern else ""
    found, tables = _counted(counts.matches, "match"), _counted(counts.tables, "document")
    samples = f", {_samples(plan, whole)}" if is_pattern else ""
    return f"{what} {found}{kind} in {tables}: {texts}{samples}?"


def _samples(plan: Plan, matches: Sequence[ShownMatch]) -> str:
    """Matches, each text once, and how many there are beside them."""
    if not matches:
        raise _unavailable(plan, "execute", "no match is short enough to be shown in a question")
    changes = dict.fromkeys(_change(each.edit.found, each.edit.becomes) for each in matches)
    shown = [*changes][:_SAMPLES]
    more = plan.counts.matches - len(shown)
    return f"for example {', '.join(shown)}" + (f", and {more:,} more" if more else "")


def question_of_undo(
    plan: Plan, replaced: Plan, *, again: bool, done: int | None = None, kept: int = 0
) -> str:
    """Returns the question for a person before a plan is taken back. Raises PlanExpiredError.

    ``replaced`` is the plan at the beginning, with the texts; ``again``: they are replaced once
    more, for ``plan`` took that back. ``done`` None: not counted.
    """
    what = f"Take back what plan {plan.id} has done"
    if again:
        what = f"Do again what plan {replaced.id} has done, and plan {plan.id} has taken back"
    places = "" if done is None else f", in {_counted(done, 'place')}"
    stay = f" {_counted(kept, 'place')} edited since will stay as they are." if kept else ""
    return f"{what}: {_texts(replaced)}{places}?{stay}"


def _can_be_shown(plan: Plan) -> bool:
    request = plan.request
    texts = (request.find, request.replace_with) if request else ()
    return all(len(with_hidden_characters_named(text)) <= _SHOWN_CHARS for text in texts)


def _texts(plan: Plan) -> str:
    """The texts, whole: what a person does not see would be agreed to unread."""
    request = plan.request
    if request is None:
        raise PlanExpiredError("the texts of the plan are forgotten: preview again")
    return _change(request.find, request.replace_with)


def _change(found: str, becomes: str) -> str:
    return _shown(found) + (f" → {_shown(becomes)}" if becomes else "")


def _shown(text: str) -> str:
    return f"“{with_hidden_characters_named(text)}” ({_counted(len(text), 'character')})"


def _counted(count: int, word: str) -> str:
    plural = "es" if word.endswith("ch") else "s"
    return f"{count:,} {word}{'' if count == 1 else plural}"
