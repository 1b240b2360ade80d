"""Calls in several rounds: a tool asks, the client answers with the next call.

Specification 2026-07-28, "Multi Round-Trip Requests" and "Elicitation".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from context_search.mcp.contract import Action, ClientInput, Form, FormAnswer, InputRequired
from context_search.mcp.jsonrpc import INVALID_PARAMS, RpcError

_ACTIONS: tuple[Action, ...] = get_args(Action)


def client_input(params: Mapping[str, object], capabilities: Mapping[str, object]) -> ClientInput:
    """Read what came with a call. Raises RpcError -32602 for what has not the form of answers.

    An answer without one of the three actions counts as missing: the tool may ask again.
    """
    responses, state = params.get("inputResponses"), params.get("requestState")
    if state is not None and not isinstance(state, str):
        raise RpcError(INVALID_PARAMS, '"requestState" must be a string')
    if responses is not None and not isinstance(responses, dict):
        raise RpcError(INVALID_PARAMS, '"inputResponses" must be an object')
    given = {name: _answer(value) for name, value in (responses or {}).items()}
    answers = {name: answer for name, answer in given.items() if answer}
    return ClientInput(_takes_forms(capabilities), answers, state)


def _answer(value: object) -> FormAnswer | None:
    if not isinstance(value, dict):
        raise RpcError(INVALID_PARAMS, '"inputResponses" must hold objects')
    content = value.get("content")
    for action in _ACTIONS:
        if value.get("action") == action:
            return FormAnswer(action, content if isinstance(content, dict) else {})
    return None


def _takes_forms(capabilities: Mapping[str, object]) -> bool:
    # Clients of before there were modes declare an empty object, and mean forms.
    elicitation = capabilities.get("elicitation")
    return isinstance(elicitation, dict) and (
        not elicitation or isinstance(elicitation.get("form"), dict)
    )


def input_required(asked: InputRequired, client: ClientInput) -> dict[str, object]:
    """Write what a tool asks. Raises ValueError for a client that takes no forms."""
    if not client.takes_forms:
        raise ValueError("a tool asks a client that takes no forms")
    return {
        "resultType": "input_required",
        "inputRequests": {name: _request(form) for name, form in asked.forms.items()},
        "requestState": asked.state,
    }


def _request(form: Form) -> dict[str, object]:
    params = {"mode": "form", "message": form.message, "requestedSchema": form.schema}
    return {"method": "elicitation/create", "params": params}
