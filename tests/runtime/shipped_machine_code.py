"""The compiled modules of the layers are for Lambda's system: its libraries, and no newer ones."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from local.lambda_jail import Arm64, Jail
from scripts.elf import AARCH64, machine
from scripts.prove_layers import BUILT
from tests.runtime.built import built_functions
from tests.runtime.check_budgets import show
from tests.runtime.conftest import ARM64

pytestmark = pytest.mark.arm64
GLIBC = (2, 34)  # of Amazon Linux 2023
# Of its packages glibc, libgcc and libstdc++, which Lambda's image has.
LIBRARIES = {
    "ld-linux-aarch64.so.1",
    *("libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1"),
    *("libgcc_s.so.1", "libstdc++.so.6"),
}


@pytest.fixture(scope="module")
def arm64(jail: Jail) -> Arm64:
    assert jail.arm64
    return jail.arm64


@pytest.fixture(scope="module")
def modules() -> list[Path]:
    return sorted(BUILT.rglob("*.so"))


def emulated(arm64: Arm64, *command: str, **variables: str) -> str:
    """What a program of the system prints."""
    program = str(arm64.system / command[0].lstrip("/"))
    ran = subprocess.run(  # noqa: S603 - programs of that system
        [str(arm64.emulator), "-L", str(arm64.system), program, *command[1:]],
        env={**arm64.variables, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_modules_need_lambdas_libraries_only(
    arm64: Arm64, modules: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(module) for module in modules]
    reported = emulated(arm64, "/usr/bin/aarch64-linux-gnu-readelf", "-W", "-V", "-d", *files)
    newest = max((int(a), int(b)) for a, b in re.findall(r"GLIBC_(\d+)\.(\d+)", reported))
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", reported))
    show(
        capsys,
        f"{len(files)} compiled modules for aarch64, glibc {newest[0]}.{newest[1]} of "
        f"{GLIBC[0]}.{GLIBC[1]}, {', '.join(sorted(needed))}",
    )
    assert {machine(module.read_bytes()) for module in modules} == {AARCH64}
    assert newest <= GLIBC
    assert needed <= LIBRARIES


def test_each_module_is_imported(
    arm64: Arm64, modules: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    names = {
        ".".join(module.relative_to(BUILT).parts[2:]).split(".cpython-")[0].split(".abi3")[0]
        for module in modules
    }
    opt = built_functions(ARM64)["search"].opt
    program = (
        "import importlib, sys; "
        "print(*(importlib.import_module(name).__file__ for name in sys.argv[1:]), sep='\\n')"
    )
    reported = emulated(
        arm64, str(arm64.python), "-S", "-c", program, *names, PYTHONPATH=str(opt / "python")
    )
    show(capsys, f"{len(names)} compiled modules imported")
    assert len(reported.splitlines()) == len(modules)
    assert all(line.endswith(".so") for line in reported.splitlines())
