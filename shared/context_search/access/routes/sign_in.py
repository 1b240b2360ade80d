"""Signing in to the console from a terminal: whoever has a key makes a code, a browser uses it.

The code is the end of an address, ``/console#/once/<code>``, behind ``#``: browsers do not send it.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field

from context_search.access.keys import SignIn
from context_search.access.routes.keys import NewKeyAnswer
from context_search.web.callers import MayManage, counting_refusals, part
from context_search.web.console import ConsoleOnly
from context_search.web.fields import AnswerModel, Body, Time, example
from context_search.web.problems import refused
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(
    prefix="/api/v1/console",
    route_class=StrictJsonRoute,
    tags=["keys"],
    dependencies=[ConsoleOnly],
    responses=refused(404),
)

Use = Annotated[SignIn, part("sign_in")]


class SignInBody(Body):
    """``POST /api/v1/console/sign-in``."""

    model_config = example(code="Wq3wJ_9")
    code: Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,64}$")]


class SignInCodeAnswer(AnswerModel):
    """A code, this once: what follows ``/console#/once/`` in an address."""

    code: str
    expires_at: Time


@router.post("/codes", status_code=201, response_model=SignInCodeAnswer)
async def make_sign_in_code(caller: MayManage, use: Use) -> Response:
    """Makes a code that signs a browser in once, within five minutes, with the caller's scopes."""
    made = use.code_for(caller)
    return SignInCodeAnswer(code=made.text, expires_at=made.expires_at).response(201)


@router.post("/sign-in", status_code=201, response_model=NewKeyAnswer, responses=refused(401, 409))
async def sign_in(request: Request, use: Use, body: SignInBody) -> Response:
    """Gives a key of the console for a code, once. A wrong, used or old code is 401 alike."""
    with counting_refusals(request, "sign-in code", body.code):
        made = use.redeem(body.code)
    return NewKeyAnswer.about(made.key, api_key=made.text).response(201)
