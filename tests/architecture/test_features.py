"""A feature is a folder; a repository, its port and its SQL share a name there."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from context_search.postgres.store import REPOSITORIES, PostgresUnitOfWork
from context_search.store import UnitOfWork
from testing.in_memory.store import MemoryUnitOfWork
from tests.architecture.project import ROOT

FEATURES = [folder.parent for folder in sorted((ROOT / "shared").rglob("sql"))]
SHARED = [ROOT / "shared/context_search/core", ROOT / "shared/context_search/integrations"]
SHARED += [ROOT / "shared/context_search" / name for name in ("postgres", "ranking", "text")]


def test_every_feature_has_repositories() -> None:
    named = {".".join(folder.relative_to(ROOT / "shared").parts) for folder in FEATURES}
    assert named == REPOSITORIES.keys()


@pytest.mark.parametrize("folder", [*FEATURES, *SHARED], ids=lambda folder: folder.name)
def test_tests_of_a_folder_lie_in_a_folder_of_its_name(folder: Path) -> None:
    assert (ROOT / "tests" / folder.name.removeprefix("context_search_")).is_dir()


def repositories() -> Iterator[tuple[str, str]]:
    """Each repository of a unit of work: its name there, and the name of its port."""
    for name, member in inspect.getmembers(UnitOfWork, lambda each: isinstance(each, property)):
        yield name, inspect.get_annotations(member.fget)["return"]


@pytest.mark.parametrize(("name", "port"), list(repositories()))
def test_a_repository_its_port_and_its_sql_share_a_name(name: str, port: str) -> None:
    class_name = "".join(word.capitalize() for word in name.split("_"))
    assert port == class_name
    sql = type(getattr(PostgresUnitOfWork(None), name))  # type: ignore[arg-type]
    [package] = [package for package, names in REPOSITORIES.items() if name in names]
    assert (sql.__name__, sql.__module__) == (f"Postgres{class_name}", f"{package}.sql.{name}")
    assert getattr(import_module(f"{package}.ports.{name}"), class_name)
    assert getattr(inspect.getmodule(MemoryUnitOfWork), f"Memory{class_name}")


def test_nothing_else_is_asked_for_as_a_repository() -> None:
    named = {name for names in REPOSITORIES.values() for name in names}
    assert named == {name for name, _ in repositories()}
    with pytest.raises(AttributeError, match="keyz"):
        _ = PostgresUnitOfWork(None).keyz  # type: ignore[arg-type, attr-defined]
