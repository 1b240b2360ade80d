"""A feature is a folder; a repository, its port and its SQL share a name there."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from context_search.store import REPOSITORIES, UnitOfWork
from scripts.shape.modules import is_use_case, name_of
from testing.in_memory.store import MemoryUnitOfWork
from tests.architecture.project import ROOT, python_files, relative, statements_in

FEATURES = [folder.parent for folder in sorted((ROOT / "shared").rglob("sql"))]
SHARED = [ROOT / "shared/context_search/core", ROOT / "shared/context_search/integrations"]
SHARED += [ROOT / "shared/context_search" / name for name in ("postgres", "ranking", "text")]
INNER = {"core", "ports", "ranking", "rules", "text"}
OUTER = ("context_search.postgres", "context_search.web", "context_search.mcp")
LIBRARIES = {
    "aws_lambda_powertools",
    "boto3",
    "botocore",
    "fastapi",
    "litellm",
    "mangum",
    "pg8000",
    "pydantic",
    "re2",
    "turbopuffer",
}


def test_every_feature_has_repositories() -> None:
    named = {".".join(folder.relative_to(ROOT / "shared").parts) for folder in FEATURES}
    assert named == REPOSITORIES.keys()


@pytest.mark.parametrize("folder", [*FEATURES, *SHARED], ids=lambda folder: folder.name)
def test_tests_of_a_folder_lie_in_a_folder_of_its_name(folder: Path) -> None:
    assert (ROOT / "tests" / folder.name.removeprefix("context_search_")).is_dir()


def test_use_cases_rules_and_ports_import_no_library_of_the_outside_and_nothing_of_the_web() -> (
    None
):
    inner = [path for path in python_files("shared") if is_inner(path)]
    assert len(inner) > 100
    outer = {
        (relative(path), name)
        for path in inner
        for name in imported(path)
        if name.startswith(OUTER) or name.partition(".")[0] in LIBRARIES
    }
    assert outer == set()


def is_inner(path: Path) -> bool:
    """Say whether a module holds use cases, rules or ports."""
    folders = set(path.relative_to(ROOT).parts)
    return is_use_case(name_of(path, ROOT)) or not folders.isdisjoint(INNER)


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that a module imports, also in functions."""
    for node in statements_in(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def repositories() -> Iterator[tuple[str, str]]:
    """Each repository of a unit of work: its name there, and the name of its port."""
    for name, member in inspect.getmembers(UnitOfWork, lambda each: isinstance(each, property)):
        yield name, inspect.get_annotations(member.fget)["return"]


@pytest.mark.parametrize(("name", "port"), list(repositories()))
def test_a_repository_its_port_and_its_sql_share_a_name(name: str, port: str) -> None:
    class_name = "".join(word.capitalize() for word in name.split("_"))
    assert port == class_name
    sql = type(getattr(UnitOfWork(None), name))  # type: ignore[arg-type]
    [package] = [package for package, names in REPOSITORIES.items() if name in names]
    assert (sql.__name__, sql.__module__) == (f"Postgres{class_name}", f"{package}.sql.{name}")
    assert getattr(import_module(f"{package}.ports.{name}"), class_name)
    assert getattr(inspect.getmodule(MemoryUnitOfWork), f"Memory{class_name}")


def test_nothing_else_is_asked_for_as_a_repository() -> None:
    named = {name for names in REPOSITORIES.values() for name in names}
    assert named == {name for name, _ in repositories()}
    with pytest.raises(AttributeError, match="keyz"):
        _ = UnitOfWork(None).keyz  # type: ignore[arg-type, attr-defined]
