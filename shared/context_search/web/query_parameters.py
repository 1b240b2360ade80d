"""Query parameters that mean what they say: known ones, once each, in one spelling.

A misspelt ``?ponter=/a`` would otherwise ask for the whole document. So would a condition that a
route cannot honour be forgotten: a ``DELETE`` with ``If-Match`` would delete what it should spare.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Annotated, cast

from fastapi import Depends, Path, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BeforeValidator

from context_search.core.errors import InvalidInputError
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
    if not given:
        return None
    known = set(_declared(dependant, "query_params"))
    if set(given) <= known and max(given.values()) == 1:
        return None
    # The name that was given may be a secret.
    names = ", ".join(sorted(known))
    allowed = f"takes these query parameters, each once: {names}" if names else "takes none"
    return f"a query parameter is unknown or repeated: this route {allowed}"


def _condition_refusal(request: Request, dependant: Dependant) -> str | None:
    sent = [name for name in _CONDITIONS if name.lower() in request.headers]
    if not sent:
        return None
    known = _declared(dependant, "header_params")
    refused = [name for name in sent if name.lower() not in known]
    return f"this route cannot honour {refused[0]}: leave it out" if refused else None


def _declared(dependant: Dependant, kind: str) -> list[str]:
    """The parameters of a route, those of its dependencies included."""
    names = [field.alias for field in getattr(dependant, kind)]
    return names + [name for inner in dependant.dependencies for name in _declared(inner, kind)]


KnownParameters = Depends(_check)
"""For every route: 422 for a query parameter or a condition that it does not declare.

Also for a query parameter that comes twice.
"""
