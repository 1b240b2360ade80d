"""Tells unit tests from those that need running parts or time, by what they ask for.

A plugin of pytest. What fixtures do not tell is refused: no unit test takes a running part with
``getfixturevalue``, and none starts Python or PostgreSQL.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

# PostgreSQL, the turbopuffer server, moto's SQS and S3, and whole stacks.
RUNNING_PARTS = {"aws", "connection", "local_server", "postgres_url", "stack", "turbopuffer_url"}
# The template's translator takes seconds to start.
SLOW = {"resources"}
# Modules that load litellm, or the model of the local stack, in seconds: who imports from them is
# slow.
HEAVY = {
    "context_search.integrations.models.litellm_embedder",
    "context_search.integrations.models.litellm_reranker",
    "local.embedding.encoder",
    "local.embedding.provider",
    "local.embedding.server",
}

_MARKED = ("stack", "slow")
_PROGRAMS = {Path(sys.executable).name, "initdb", "postgres"}
# The unit test that runs, if one does.
_unit_test: list[str] = []


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Marks tests by their fixtures. Files with slow ones come first, so that none ends late."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & RUNNING_PARTS:
            item.add_marker(pytest.mark.stack)
        if fixtures & SLOW or _imports_heavy(getattr(item, "module", None)):
            item.add_marker(pytest.mark.slow)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    for item in items:
        if _is_of_the_model(item):
            item.add_marker(pytest.mark.slow)
    yield
    items.sort(key=lambda item: item.path not in slow)


@cache
def _imports_heavy(module: ModuleType | None) -> bool:
    names = vars(module) if module is not None else {}
    return any(getattr(each, "__module__", None) in HEAVY for each in names.values())


def _is_of_the_model(item: pytest.Item) -> bool:
    """Whether a test compares the simulation's model with PostgreSQL: no unit of the product."""
    callspec = getattr(item, "callspec", None)
    return callspec is not None and callspec.params.get("bench") == "model"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Notes which unit test runs."""
    if not any(item.get_closest_marker(name) for name in _MARKED):
        _unit_test.append(item.nodeid)
    try:
        return (yield)
    finally:
        _unit_test.clear()


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> None:
    """Refuses a running part that a test took with ``getfixturevalue``."""
    _refuse(fixturedef.argname in RUNNING_PARTS | SLOW, fixturedef.argname)


def _refuse_programs(event: str, arguments: tuple[object, ...]) -> None:
    if event == "subprocess.Popen":
        program = Path(str(arguments[0])).name
        _refuse(program in _PROGRAMS, program)


def _refuse(condition: bool, what: str) -> None:  # noqa: FBT001
    if condition and _unit_test:
        pytest.fail(f"{what} is not for unit tests: mark this one with one of {_MARKED}")


sys.addaudithook(_refuse_programs)
