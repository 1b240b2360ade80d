"""Schemathesis: requests made from the served OpenAPI document, all checks of the answers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from local.options import ROOT, StackOptions
from tests.conformance.conftest import ORIGINS
from tests.conformance.node import HERE
from tests.conformance.things import SPARES, Things, things_of
from tests.e2e.running import Running, running_stack, user_environment

# Every route with a hundred requests and more: minutes on a busy machine.
pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]

CONFIGURATION = HERE / "schemathesis.toml"


@pytest.fixture(scope="module")
def own_stack() -> Iterator[Running]:
    """A stack of its own: operators' routes reach what every project has."""
    with running_stack(StackOptions(), **ORIGINS) as running:
        yield running


@pytest.fixture(scope="module")
def things(own_stack: Running) -> Things:
    # Ids at the bounds (1, 2) are what schemathesis tries first; they are to be nobody's.
    own_stack.sql("SELECT setval(oid::regclass, 1000) FROM pg_class WHERE relkind = 'S'")
    spare: list[int | str] = [own_stack.project().project_id for _ in range(SPARES)]
    return things_of(own_stack.project(), spare)


def test_the_stack_keeps_its_contract(own_stack: Running, things: Things, tmp_path: Path) -> None:
    (tmp_path / "kept-key").write_text(str(things.kept_key_id))
    configuration = tmp_path / CONFIGURATION.name
    configuration.write_text(f"{CONFIGURATION.read_text('utf-8')}\n{things.toml()}", "utf-8")
    program = str(Path(sys.executable).with_name("st"))
    command = [program, "--config-file", str(configuration)]
    command += ["run", f"{own_stack.base_url}/openapi.json"]
    command += ["--header", f"Authorization: Bearer {things.tenant.key}"]
    command += ["--header", f"X-Internal-Secret: {own_stack.internal_secret}"]
    environment = {**user_environment(), "PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}"}
    done = subprocess.run(  # noqa: S603 - our own fixed command
        command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    served = httpx2.get(f"{own_stack.base_url}/openapi.json", trust_env=False).json()
    operations = sum(len(methods) for methods in served["paths"].values())
    assert f"Tested: {operations}" in done.stdout
    keys = things.tenant("GET", f"/api/v1/projects/{things.tenant.project_id}/keys")
    assert keys.status_code == 200  # what went before was not all 401
