"""Every dependency has a reason, a hash and no address."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.architecture.project import ROOT, dependencies, python_files, relative, statements_in

LAYERS = ["layers/core/requirements.in", "layers/embedding/requirements.in"]
LOCAL = [*LAYERS, "requirements/local.in"]
DEV = [*LOCAL, "requirements/dev.in", "requirements/cli.in"]
CONFORMANCE = "requirements/conformance.in"
installed = cache(packages_distributions)
OURS = {entry.name for folder in (".", "shared", "cli") for entry in (ROOT / folder).iterdir()}
# Import name → the distribution to ask for, where it comes as a part of another one.
PART_OF = {
    "botocore": "boto3",
    "hypercorn": "ministack",  # the server that it serves with
    "mcp_types": "mcp",
    "mypy_boto3_s3": "boto3-stubs",
    "mypy_boto3_sqs": "boto3-stubs",
}
# The Lambda runtime brings it; its types are only looked at by mypy.
OUTSIDE_LAYERS = {"boto3", "boto3-stubs"}
INPUTS = sorted([*ROOT.glob("requirements/*.in"), *ROOT.glob("layers/*/requirements.in")])
LOCKS = [path.with_suffix(".txt") for path in INPUTS]


@pytest.mark.parametrize("path", INPUTS, ids=relative)
def test_every_dependency_is_explained(path: Path) -> None:
    explained = set(re.findall(r"^\| `([^`/]+)` \|", document(), flags=re.MULTILINE))
    assert dependencies(path) - explained == set()


def test_nothing_is_explained_that_is_not_a_dependency() -> None:
    explained = set(re.findall(r"^\| `([^`/]+)` \|", document(), flags=re.MULTILINE))
    assert explained == set().union(*map(dependencies, INPUTS))


@pytest.mark.parametrize("path", LOCKS, ids=relative)
def test_a_lock_pins_by_hash(path: Path) -> None:
    pins = re.split(r"\n(?=\S)", path.read_text())
    assert [pin for pin in pins if "==" not in pin or "--hash=sha256:" not in pin] == []


@pytest.mark.parametrize("path", LOCKS, ids=relative)
def test_a_lock_names_no_address(path: Path) -> None:
    assert not re.search(r"://|--(extra-)?index-url|--find-links|file:", path.read_text())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folders", "files", "given"),
    [
        (("shared", "functions"), LAYERS, OUTSIDE_LAYERS),
        (("local",), LOCAL, {"boto3-stubs"}),
        (("cli",), ["requirements/cli.in"], set[str]()),
        (("tests", "bench"), [*DEV, CONFORMANCE, "requirements/console.in"], set[str]()),
    ],
)
def test_what_the_code_imports_is_asked_for_by_name(
    folders: tuple[str, ...], files: list[str], given: set[str]
) -> None:
    asked = given.union(*(dependencies(ROOT / file) for file in files))
    imported = {name for path in python_files(*folders) for name in foreign_imports(path)}
    providers = installed()
    missing = {
        name: normalised
        for name in imported
        if not (normalised := {distribution(d) for d in providers.get(name, [name])}) & asked
        and PART_OF.get(name) not in asked
    }
    assert missing == {}


def foreign_imports(path: Path) -> set[str]:
    """The top-level names that a module imports from other projects."""
    modules = set()
    for node in statements_in(path):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.split(".")[0])
    return modules - OURS - sys.stdlib_module_names


def distribution(name: str) -> str:
    """The name as requirements write it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def document() -> str:
    return (ROOT / "docs" / "dependencies.md").read_text()
