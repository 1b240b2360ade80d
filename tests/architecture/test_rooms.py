"""The same rooms on every floor; what is in one of them has one name on all of them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from context_search.adapters.postgres.store import PostgresUnitOfWork
from context_search.ports.store import UnitOfWork
from local.options import ROOT
from testing.in_memory.store import MemoryUnitOfWork

PACKAGE = ROOT / "shared" / "context_search"
ROOMS = {"catalog", "access", "editing", "indexing", "searching", "upkeep"}
FLOORS = [
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


def repositories() -> Iterator[tuple[str, type]]:
    """Each repository of a unit of work: its name there, and its port."""
    for name, member in inspect.getmembers(UnitOfWork, lambda each: isinstance(each, property)):
        yield name, inspect.get_annotations(member.fget, eval_str=True)["return"]


@pytest.mark.parametrize(("name", "port"), list(repositories()))
def test_a_repository_its_port_and_its_sql_share_a_name(name: str, port: type) -> None:
    class_name = "".join(word.capitalize() for word in name.split("_"))
    room = port.__module__.rsplit(".", 1)[1]
    assert port.__name__ == class_name
    assert room in ROOMS
    sql = type(getattr(PostgresUnitOfWork(None), name))  # type: ignore[arg-type]
    assert (sql.__name__, sql.__module__) == (
        f"Postgres{class_name}",
        f"context_search.adapters.postgres.{room}.{name}",
    )
    assert getattr(inspect.getmodule(MemoryUnitOfWork), f"Memory{class_name}")
