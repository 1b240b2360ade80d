"""What no file of this project does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.architecture.project import (
    ROOT,
    SOURCE_FOLDERS,
    files_with,
    parsed,
    python_files,
    relative,
    statements_in,
)

# File → why it reads or sets the environment itself.
ENVIRONMENT_READERS = {
    "shared/context_search/settings.py": "the one place that reads it",
    "shared/context_search/integrations/models/litellm_embedder.py": "litellm reads it at import",
    "local/blas.py": "BLAS reads its threads at import",
    "local/serve.py": "hands the user's on to the functions",
    "local/demo/__main__.py": "hands the user's on to the functions",
    "local/deployed.py": "hands the user's on to its parts",
    "local/aws.py": "functions inherit it",
    "scripts/shape/requests.py": "functions in its process inherit it",
    "scripts/smoke.py": "the secret, which is in no list of processes so",
}

STORE = ROOT / "shared/context_search/store.py"
ADAPTERS = {"integrations", "postgres"}


def names_in(path: Path) -> Iterator[str]:
    """Dotted names that a module imports, and ``name.attribute`` where it uses one."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"


def test_the_environment_is_read_in_few_places() -> None:
    readers = {
        relative(path)
        for path in files_with("env", *SOURCE_FOLDERS, "scripts")
        if {"os.environ", "os.getenv"} & set(names_in(path))
    }
    assert readers == ENVIRONMENT_READERS.keys()


def test_a_method_of_an_adapter_has_a_docstring_there_or_in_what_it_stands_for() -> None:
    shared = python_files("shared")
    ports = [path for path in shared if path.name == "ports.py" or path == STORE]
    repositories = [path for path in shared if path.parent.name == "sql"]
    adapters = [path for path in shared if ADAPTERS & set(path.parts) and path not in ports]
    described = {name for name, docstring in methods_of([*ports, *repositories]) if docstring}
    silent = {
        name
        for name, docstring in methods_of([*adapters, *repositories, *python_files("testing")])
        if docstring is None and name not in described
    }
    assert len(described) > 200
    assert silent == set()


def methods_of(paths: Iterable[Path]) -> Iterator[tuple[str, str | None]]:
    """Name and docstring of every public method of every class in the files."""
    for path in paths:
        for node in statements_in(path):
            for member in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                    yield member.name, ast.get_docstring(member)


def test_every_program_that_the_makefile_starts_exists() -> None:
    started = re.findall(
        r"-m ((?:local|bench|scripts|tests)[\w.]*)", (ROOT / "Makefile").read_text()
    )
    assert [name for name in started if not is_program(ROOT.joinpath(*name.split(".")))] == []


def is_program(path: Path) -> bool:
    """Whether ``python -m`` can run the module at this path."""
    return path.with_suffix(".py").exists() or (path / "__main__.py").exists()


# File → why it sleeps. Everything else waits for the state itself, with ``eventually``.
SLEEPERS = {
    "tests/stack.py": "polls, in eventually",
    "tests/builders.py": "polls, in until",
    "tests/conformance/generated_client.py": "polls, in an environment without tests/builders.py",
    "tests/local/test_poller.py": "is the work of a handler",
    "tests/local/test_gateway.py": "yields to the event loop",
}


def name_of(called: ast.expr) -> str:
    """The last name of what is called."""
    return getattr(called, "attr", getattr(called, "id", ""))


def test_no_test_sleeps_to_wait_for_another() -> None:
    sleepers = {
        relative(path)
        for path in files_with("sleep", "tests", "testing")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and name_of(node.func) == "sleep"
    }
    assert sleepers - {"tests/faults/simulation/scheduler.py"} == SLEEPERS.keys()


def test_no_plugin_runs_a_failed_test_again() -> None:
    pinned = (ROOT / "requirements" / "conformance.txt").read_text()
    console = (ROOT / "requirements" / "console.txt").read_text()
    assert re.findall(r"(?m)^(?:flaky|pytest-retry|pytest-rerun\S*)==", pinned + console) == []
    assert "--last-failed" not in (ROOT / "Makefile").read_text()


def test_a_route_makes_its_answer_when_its_transaction_has_ended() -> None:
    # Until then a connection waits for what needs none.
    early = {
        f"{relative(path)}:{call.lineno}"
        for path in files_with("with store.for_", "shared")
        for statement in statements_in(path)
        if isinstance(statement, ast.With) and path.parent.name == "routes"
        for call in ast.walk(statement)
        if isinstance(call, ast.Call) and re.search(r"Answer\b", ast.unparse(call.func))
    }
    assert early == set()


def test_a_port_is_chosen_before_it_is_bound_by_postgres_alone() -> None:
    # Postgres takes no socket from its parent; its starter tries another port when one is taken.
    # (Paths that two clones would share are ruff's rule S108.)
    choosers = {
        relative(path)
        for path in files_with("free_port", *SOURCE_FOLDERS, "tests")
        if "local.processes.free_port" in set(names_in(path))
    }
    assert choosers == {"local/postgres/server.py"}


def test_parameters_of_tests_have_an_order() -> None:
    # Two workers that list them differently end the whole run.
    unordered = {
        f"{relative(path)}:{node.lineno}"
        for path in files_with("parametrize", "tests")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and name_of(node.func) == "parametrize"
        for values in node.args[1:2]
        if isinstance(values, ast.Set | ast.SetComp | ast.BinOp)
        and not isinstance(getattr(values, "op", None), ast.Add | ast.Mult)
    }
    assert unordered == set()
