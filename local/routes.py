"""Choosing the function for a request as an HTTP API does.

The most specific route wins. The template has no greedy ``{proxy+}`` and no ``$default``.
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from local.invocation import LambdaFunction
from local.template import RouteSpec

_VARIABLE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """A function, the key of the route that chose it, and the path's variables."""

    function: LambdaFunction
    route_key: str
    path_parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Route:
    spec: RouteSpec
    function: LambdaFunction
    pattern: re.Pattern[str]

    @property
    def specificity(self) -> tuple[int, bool]:
        """Sorts the most specific route first."""
        path = self.spec.path
        literals = path.count("/") - len(_VARIABLE.findall(path))
        return (-literals, self.spec.method == "ANY")


class RouteTable:
    """The routes of every function of a template."""

    def __init__(self, functions: Iterable[LambdaFunction]) -> None:
        routes = [
            _Route(spec, function, _pattern(spec.path))
            for function in functions
            for spec in function.spec.routes
        ]
        self._routes = sorted(routes, key=lambda route: route.specificity)

    def match(self, method: str, path: str) -> RouteMatch | None:
        """The route for a method in capitals and a decoded path, or None."""
        for route in self._routes:
            if route.spec.method not in {method, "ANY"}:
                continue
            found = route.pattern.fullmatch(path)
            if found:
                return RouteMatch(route.function, route.spec.key, found.groupdict())
        return None


def _pattern(path: str) -> re.Pattern[str]:
    # Every other piece is a variable's name.
    pieces = [
        f"(?P<{piece}>[^/]+)" if index % 2 else re.escape(piece)
        for index, piece in enumerate(_VARIABLE.split(path))
    ]
    return re.compile("".join(pieces))
