"""Clients made from the served OpenAPI document: no warning, no route left out, and one walks."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from local.options import ROOT
from tests.conformance.node import HERE
from tests.e2e.running import Running, user_environment

pytestmark = pytest.mark.stack

PROGRAMS = ROOT / ".venv-clients/bin"
CLIENT = "context-search-client"


def run(folder: Path, program: str, *arguments: str) -> None:
    """Runs a program of the generators' environment. Fails for a word on standard error."""
    environment = {**user_environment(), "PYTHONWARNINGS": "error", "NO_PROXY": "127.0.0.1"}
    environment["PATH"] = f"{PROGRAMS}{os.pathsep}{environment['PATH']}"
    environment["PYTHONPATH"] = str(folder / CLIENT)
    done = subprocess.run(  # noqa: S603 - our own fixed commands
        [str(PROGRAMS / program), *arguments],
        cwd=folder,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


@pytest.fixture(scope="module")
def document(stack: Running, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The document as the stack serves it."""
    path = tmp_path_factory.mktemp("clients") / "openapi.json"
    path.write_bytes(stack.http.get("/openapi.json").content)
    return path


def test_a_client_has_every_route_and_finds_a_passage(stack: Running, document: Path) -> None:
    folder = document.parent
    run(folder, "openapi-python-client", "generate", "--path", str(document), "--fail-on-warning")
    routes = (folder / CLIENT / "context_search_client/api").glob("*/[!_]*.py")
    served = stack.http.get("/openapi.json").json()
    operations = [one for methods in served["paths"].values() for one in methods.values()]
    assert {path.stem for path in routes} == {one["operationId"] for one in operations}
    project = stack.project()
    arguments = [stack.base_url, project.key, str(project.project_id)]
    run(folder, "python", str(HERE / "generated_client.py"), *arguments)


def test_models_are_made_without_a_warning(document: Path) -> None:
    options = ["--input-file-type", "openapi", "--output-model-type", "pydantic_v2.BaseModel"]
    options += ["--formatters", "builtin", "--use-annotated", "--output", "models.py"]
    run(document.parent, "datamodel-codegen", "--input", str(document), *options)
    run(document.parent, "python", "-c", "from models import SearchAnswer, SpanAnswer")
