"""What a search costs its own process: the search function in this one, over a stack's parts.

CPU of the thread that answers, which other programs on the machine hardly change. The local model
works in threads of its own, as a provider works elsewhere, so none of it is counted.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

from bench._large_index import LargeIndex
from context_search.integrations.turbopuffer import TurbopufferVectors
from context_search.postgres.connection import Connection
from context_search.searching.embed_question import EmbedQuestion
from local.embedding import register
from local.environment import Choice, function_environment
from local.http_events import HttpRequest, request_event
from local.invocation import LambdaFunction
from local.options import StackOptions
from local.routes import RouteTable
from local.stack import Stack
from local.state import State
from local.template import read_template

OF_OTHERS: Mapping[str, tuple[tuple[type, str], ...]] = {
    "model's client": ((EmbedQuestion, "embed"),),
    "turbopuffer's client": ((TurbopufferVectors, "query"),),
    "Postgres' client": ((Connection, "exchange"), (Connection, "query")),
}
"""Whose CPU is not ours, and where the way to it begins."""


@dataclass
class _Meter:
    """Seconds of CPU that calls of some methods took, by name."""

    spent: Counter[str] = field(default_factory=Counter)

    def watch(self, name: str, owner: type, method: str) -> None:
        """Counts what a method takes from now on."""
        plain: Callable[..., Any] = getattr(owner, method)

        def counted(*arguments: object, **named: object) -> object:
            began = time.thread_time()
            try:
                return plain(*arguments, **named)
            finally:
                self.spent[name] += time.thread_time() - began

        setattr(owner, method, counted)


@dataclass(frozen=True, slots=True)
class SearchFunction:
    """The search function, loaded into this process."""

    routes: RouteTable
    key: str
    meter: _Meter

    def cost_of(self, path: str, body: Mapping[str, object]) -> dict[str, float]:
        """Returns milliseconds of CPU of one request: ``all``, each of ``OF_OTHERS``, ``ours``."""
        match = self.routes.match("POST", path)
        if match is None:
            raise ValueError(f"the search function does not serve {path}")
        data = json.dumps(body).encode()
        headers = (("authorization", f"Bearer {self.key}"), ("content-type", "application/json"))
        event = request_event(
            HttpRequest("POST", path, "", headers, data, "127.0.0.1", "HTTP/1.1"), match
        )
        self.meter.spent.clear()
        began = time.thread_time()
        answer = match.function.invoke(event)
        whole = time.thread_time() - began
        if answer["statusCode"] != 200:
            raise RuntimeError(f"{path} answers {answer['statusCode']}")
        cost = {name: self.meter.spent[name] for name in OF_OTHERS}
        cost = {"all": whole, **cost, "ours": whole - sum(cost.values())}
        return {name: 1000 * seconds for name, seconds in cost.items()}

    def costs_of(
        self, path: str, queries: Sequence[str], **more: object
    ) -> Mapping[str, list[float]]:
        """Returns those of many questions, one after the other, by name."""
        costs = [self.cost_of(path, {"query": query, **more}) for query in queries]
        return {name: [cost[name] for cost in costs] for name in costs[0]}


@contextmanager
def search_function(stack: Stack, state: State, index: LargeIndex) -> Iterator[SearchFunction]:
    """Loads the search function with the environment that the stack's own has.

    What it logs goes nowhere. Nothing else may run in this process.
    """
    environment, template = os.environ, StackOptions().template  # noqa: TID251 - handed on
    user = dict(environment)
    environment.update(
        function_environment(user, Choice.of(user), stack.endpoints, state.secrets(), template)
    )
    register()
    meter = _Meter()
    for name, methods in OF_OTHERS.items():
        for owner, method in methods:
            meter.watch(name, owner, method)
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):  # noqa: PTH123
        specs = read_template(template).functions
        loaded = [LambdaFunction.load(spec) for spec in specs if _searches(spec.routes)]
        key = index.project.http.headers["authorization"].removeprefix("Bearer ")
        yield SearchFunction(RouteTable(loaded), key, meter)


def _searches(routes: Sequence[Any]) -> bool:
    return any(route.path == "/api/v1/tools/{tool_id}/search" for route in routes)
