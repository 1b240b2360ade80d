"""A feature is a folder; a repository and the file of its SQL share a name there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name

import pytest

from context_search.store import REPOSITORIES, UnitOfWork
from scripts.shape.modules import is_use_case, name_of
from testing.in_memory.clock import ManualClock
from tests.architecture.project import ROOT, python_files, relative, statements_in
from tests.faults.simulation.model.rows import Rows
from tests.faults.simulation.model.store import ModelUnitOfWork

FEATURES = [folder.parent for folder in sorted((ROOT / "shared").rglob("sql"))]
SHARED = [ROOT / "shared/context_search/core", ROOT / "shared/context_search/integrations"]
SHARED += [ROOT / "shared/context_search" / name for name in ("postgres", "ranking", "text")]
INNER = {"core", "ports.py", "ranking", "rules", "text"}
OUTER = ("context_search.postgres", "context_search.web", "context_search.mcp")
LIBRARIES = {
    *("aws_lambda_powertools", "boto3", "botocore", "fastapi", "litellm", "mangum", "pg8000"),
    *("pydantic", "re2", "turbopuffer"),
}


def test_every_feature_has_repositories() -> None:
    named = {".".join(folder.relative_to(ROOT / "shared").parts) for folder in FEATURES}
    assert named == {path.rpartition(".sql.")[0] for path in REPOSITORIES.values()}


@pytest.mark.parametrize("folder", [*FEATURES, *SHARED], ids=lambda folder: folder.name)
def test_tests_of_a_folder_lie_in_a_folder_of_its_name(folder: Path) -> None:
    assert (ROOT / "tests" / folder.name.removeprefix("context_search_")).is_dir()


def test_use_cases_and_rules_import_no_library_of_the_outside_and_nothing_of_the_web() -> None:
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
    """Say whether a module holds use cases, rules or a port."""
    parts = path.relative_to(ROOT).parts
    return is_use_case(name_of(path, ROOT)) or not INNER.isdisjoint(parts)


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that a module imports, also in functions."""
    for node in statements_in(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize(("name", "path"), REPOSITORIES.items())
def test_a_repository_its_class_and_its_file_share_a_name(name: str, path: str) -> None:
    class_name = "".join(word.capitalize() for word in name.split("_"))
    assert path.endswith(f".sql.{name}:{class_name}")
    assert UnitOfWork.__annotations__[name] == class_name
    assert isinstance(getattr(UnitOfWork(None), name), resolve_name(path))  # type: ignore[arg-type]


def test_nothing_else_is_asked_for_as_a_repository() -> None:
    assert UnitOfWork.__annotations__.keys() == REPOSITORIES.keys()
    with pytest.raises(AttributeError, match="keyz"):
        _ = UnitOfWork(None).keyz  # type: ignore[arg-type, attr-defined]


def test_a_repository_of_the_model_is_one_of_postgres() -> None:
    work = ModelUnitOfWork(Rows(), ManualClock())
    for name in REPOSITORIES.keys() & vars(work).keys():
        assert isinstance(getattr(work, name), resolve_name(REPOSITORIES[name]))
    with pytest.raises(AttributeError, match="the model has no keyz"):
        _ = work.keyz  # type: ignore[attr-defined]
