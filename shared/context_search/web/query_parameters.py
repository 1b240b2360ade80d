"""Query parameters that mean what they say: known ones, once each, in one spelling.

A misspelt ``?ponter=/a`` would otherwise ask for the whole document. So would a condition that a
route cannot honour be forgotten: a ``DELETE`` with ``If-Match`` would delete what it should spare.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from typing import Annotated, cast

from fastapi import Depends, Path, Request
from fastapi._compat import ModelField
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BeforeValidator

from context_search.domain.errors import InvalidInputError
from context_search.web.problems import misses_method

_DECIMAL = re.compile(r"0|[1-9][0-9]*")
_CONDITIONS = ("If-Match", "If-None-Match")
_BOOLEAN = {"true": True, "false": False}


def _decimal(text: object) -> object:
    if isinstance(text, str) and not _DECIMAL.fullmatch(text):
        raise ValueError("Input should be a decimal integer without sign and leading zeros")
    return text


def _boolean(text: object) -> object:
    if isinstance(text, str) and text not in _BOOLEAN:
        raise ValueError("Input should be true or false")
    return text


Decimal = BeforeValidator(_decimal)
"""For integers of an address: ``1`` is one, ``+1``, ``01``, ``1.0`` and other digits are not."""

TrueOrFalse = BeforeValidator(_boolean)
"""For booleans of an address: not ``yes``, ``1`` or ``on``."""

IdInPath = Annotated[int, Path(ge=1, le=2**63 - 1), Decimal]


async def _check(request: Request) -> None:
    dependant = cast(APIRoute, request.scope["route"]).dependant
    refusal = _parameter_refusal(request, dependant) or _condition_refusal(request, dependant)
    if refusal and not misses_method(request):  # another route has caught it: the answer is 405
        raise InvalidInputError(refusal)


def _parameter_refusal(request: Request, dependant: Dependant) -> str | None:
    given = Counter(name for name, _ in request.query_params.multi_items())
    known = {field.alias for field in _declared(dependant, "query_params")}
    if set(given) <= known and max(given.values(), default=1) == 1:
        return None
    # The name that was given may be a secret.
    names = ", ".join(sorted(known))
    allowed = f"takes these query parameters, each once: {names}" if names else "takes none"
    return f"a query parameter is unknown or repeated: this route {allowed}"


def _condition_refusal(request: Request, dependant: Dependant) -> str | None:
    known = {field.alias for field in _declared(dependant, "header_params")}
    for name in _CONDITIONS:
        if name.lower() in request.headers and name.lower() not in known:
            return f"this route cannot honour {name}: send the request without it"
    return None


def _declared(dependant: Dependant, kind: str) -> list[ModelField]:
    """The parameters of a route, those of its dependencies included."""
    inner = (_declared(each, kind) for each in dependant.dependencies)
    return [*getattr(dependant, kind), *chain.from_iterable(inner)]


KnownParameters = Depends(_check)
"""For every route: 422 for a query parameter or a condition that it does not declare.

Also for a query parameter that comes twice.
"""
