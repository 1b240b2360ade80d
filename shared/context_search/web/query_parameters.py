"""Query parameters that mean what they say: known ones, once each, in one spelling.

A misspelt ``?ponter=/a`` would otherwise ask for the whole document.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Annotated, cast

from fastapi import Depends, Path, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BeforeValidator

from context_search.domain.errors import InvalidInputError
from context_search.web.problems import misses_method

_DECIMAL = re.compile(r"0|[1-9][0-9]*")
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
    given = Counter(name for name, _ in request.query_params.multi_items())
    if not given:
        return
    known = set(_declared(cast(APIRoute, request.scope["route"]).dependant))
    if set(given) <= known and max(given.values()) == 1:
        return
    if misses_method(request):  # another route has caught it: the answer is 405
        return
    # The name that was given may be a secret.
    names = ", ".join(sorted(known))
    allowed = f"takes these query parameters, each once: {names}" if names else "takes none"
    raise InvalidInputError(f"a query parameter is unknown or repeated: this route {allowed}")


def _declared(dependant: Dependant) -> list[str]:
    """The query parameters of a route, those of its dependencies included."""
    names = [field.alias for field in dependant.query_params]
    return names + [name for inner in dependant.dependencies for name in _declared(inner)]


KnownParameters = Depends(_check)
"""For every route: 422 for a query parameter that it does not declare, or that comes twice."""
