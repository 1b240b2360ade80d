"""The template as CloudFormation gets it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.deployment.cloudformation import of_type

if TYPE_CHECKING:
    from tests.deployment.cloudformation import Resources

ROOT = Path(__file__).resolve().parents[2]
TRANSLATOR = ROOT / ".venv-build" / "bin" / "python"


@pytest.fixture(scope="session")
def resources() -> Resources:
    """Logical id → resource, after SAM's translation.

    The translator lives in an environment of its own, which ``make test`` makes.
    """
    if not TRANSLATOR.exists():
        pytest.skip("the SAM tools are not installed: make setup-build")
    done = subprocess.run(  # noqa: S603 - our own program
        [str(TRANSLATOR), "-m", "scripts.translate_template"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found: Resources = json.loads(done.stdout)["Resources"]
    return found


@pytest.fixture(scope="session")
def functions(resources: Resources) -> Resources:
    """Logical id → properties of every Lambda function."""
    return of_type(resources, "AWS::Lambda::Function")
