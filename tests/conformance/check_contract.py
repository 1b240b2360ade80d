"""Schemathesis: requests made from the served OpenAPI document, all checks of the answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx2

from local.options import ROOT
from tests.conformance.node import HERE
from tests.e2e.running import Running, user_environment

EXAMPLES = 15


def test_the_stack_keeps_its_contract(stack: Running, tmp_path: Path) -> None:
    project = stack.project()  # of its own: tables and tools come and go here
    program = str(Path(sys.executable).with_name("st"))
    command = [program, "--config-file", str(HERE / "schemathesis.toml")]
    command += ["run", f"{stack.base_url}/openapi.json", "--max-examples", str(EXAMPLES)]
    command += ["--header", f"Authorization: Bearer {project.key}"]
    command += ["--header", f"X-Internal-Secret: {stack.internal_secret}"]
    environment = {**user_environment(), "PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}"}
    done = subprocess.run(  # noqa: S603 - our own fixed command
        command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    served = httpx2.get(f"{stack.base_url}/openapi.json", trust_env=False).json()
    operations = sum(len(methods) for methods in served["paths"].values())
    assert f"Tested: {operations}" in done.stdout
