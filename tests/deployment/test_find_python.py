"""scripts/find_python.sh finds an interpreter that runs, whatever else lies about."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FINDER = Path(__file__).resolve().parents[2] / "scripts" / "find_python.sh"
# The real interpreter, claiming to be a version that no machine has.
CLAIMS_3_99 = f"""#!/bin/sh
exec "{sys.executable}" -c 'import sys; sys.version_info = (3, 99, 1); exec(sys.argv[1])' "$2"
"""
BROKEN_SHIM = "#!/bin/sh\necho 'pyenv: python3.99: command not found' >&2\nexit 127\n"


@pytest.fixture
def pyenv(tmp_path: Path) -> Path:
    """The root of an empty pyenv."""
    return tmp_path / "pyenv"


def program(path: Path, text: str) -> None:
    """Writes an executable file."""
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(0o755)


def find(version: str, pyenv: Path) -> subprocess.CompletedProcess[str]:
    """Runs the finder with only the fake pyenv in sight."""
    return subprocess.run(  # noqa: S603 - our own script
        [str(FINDER), version],
        env={"PATH": f"{pyenv}/shims:/usr/bin:/bin", "HOME": str(pyenv), "PYENV_ROOT": str(pyenv)},
        cwd=pyenv.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_shim_that_does_not_run_is_passed_over(pyenv: Path) -> None:
    program(pyenv / "shims" / "python3.99", BROKEN_SHIM)
    program(pyenv / "versions" / "3.99.1" / "bin" / "python", CLAIMS_3_99)
    assert find("3.99", pyenv).stdout.strip() == sys.executable


def test_an_interpreter_of_another_version_is_not_taken(pyenv: Path) -> None:
    program(pyenv / "versions" / "3.98.1" / "bin" / "python", CLAIMS_3_99)
    assert find("3.98", pyenv).returncode == 1


def test_it_says_what_it_did_not_find(pyenv: Path) -> None:
    found = find("3.99", pyenv)
    assert found.returncode == 1
    assert "No Python 3.99 found" in found.stderr
