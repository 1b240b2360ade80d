"""The same rooms on every floor; what is in one of them has one name on all of them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from context_search.ports.store import UnitOfWork
from context_search.postgres.store import REPOSITORIES, PostgresUnitOfWork
from local.options import ROOT
from testing.in_memory.store import MemoryUnitOfWork

PACKAGE = ROOT / "shared" / "context_search"
ROOMS = {"catalog", "access", "editing", "indexing", "searching", "upkeep"}
FLOORS = [
    PACKAGE / "ports",
    PACKAGE / "services",
    PACKAGE / "adapters" / "postgres",
    PACKAGE / "web" / "routes",
    ROOT / "tests" / "services",
]
NO_ROOMS = {"migrations", "__pycache__"}


@pytest.mark.parametrize("floor", FLOORS, ids=lambda floor: str(floor.relative_to(ROOT)))
def test_a_floor_has_the_same_rooms_as_every_other(floor: Path) -> None:
    found = {folder.name for folder in floor.iterdir() if folder.is_dir()}
    assert found - NO_ROOMS == ROOMS


def repositories() -> Iterator[tuple[str, str]]:
    """Each repository of a unit of work: its name there, and the name of its port."""
    for name, member in inspect.getmembers(UnitOfWork, lambda each: isinstance(each, property)):
        yield name, inspect.get_annotations(member.fget)["return"]


@pytest.mark.parametrize(("name", "port"), list(repositories()))
def test_a_repository_its_port_and_its_sql_share_a_name(name: str, port: str) -> None:
    class_name = "".join(word.capitalize() for word in name.split("_"))
    assert port == class_name
    sql = type(getattr(PostgresUnitOfWork(None), name))  # type: ignore[arg-type]
    room = sql.__module__.split(".")[-2]
    assert room in ROOMS
    assert (sql.__name__, sql.__module__) == (
        f"Postgres{class_name}",
        f"context_search.adapters.postgres.{room}.{name}",
    )
    assert getattr(import_module(f"context_search.ports.{room}.{name}"), class_name)
    assert getattr(inspect.getmodule(MemoryUnitOfWork), f"Memory{class_name}")


def test_nothing_else_is_asked_for_as_a_repository() -> None:
    named = {name for names in REPOSITORIES.values() for name in names}
    assert named == {name for name, _ in repositories()}
    with pytest.raises(AttributeError, match="keyz"):
        _ = PostgresUnitOfWork(None).keyz  # type: ignore[arg-type, attr-defined]
