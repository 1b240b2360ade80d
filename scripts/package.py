"""Packs one layer or function for Lambda; ``layers/Makefile`` calls this for ``sam build``.

    python -m scripts.package layer core|embedding|shared DIRECTORY
    python -m scripts.package function NAME DIRECTORY

Wheels are chosen for Lambda's machine (arm64, Amazon Linux 2023), never for this one. The code is
byte-compiled here, because Lambda's disk is read-only: without it every cold start compiles again.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

from scripts.layer_contents import PACKED_WITH, ROOT, install, prune, strip, wanted

LAMBDA_PYTHON = "3.13"
LAMBDA_PLATFORM = ("--python-platform", "aarch64-manylinux_2_28", "--python-version", LAMBDA_PYTHON)
NOT_SHIPPED = shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info", "*.md")


def lambda_python() -> str | None:
    """The path of an interpreter of Lambda's version on this machine, if there is one."""
    finder = [str(ROOT / "scripts" / "find_python.sh"), LAMBDA_PYTHON]
    found = subprocess.run(finder, cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


def compile_bytecode(tree: Path, installed_at: str) -> None:
    """Writes a ``.pyc`` beside every module, valid whatever its modification time says.

    Zip files do not keep exact times, so the ``.pyc`` must not depend on them. Without an
    interpreter of Lambda's version the tree stays as it is; ``prove_layers`` says so.
    """
    if (python := lambda_python()) is None:
        return
    subprocess.run(
        [
            *("env", "PYTHONHASHSEED=0"),  # the same source gives the same bytes
            *(python, "-m", "compileall", "-q", "-f", "-j", "2"),
            *("--invalidation-mode", "unchecked-hash", "-s", str(tree), "-p", installed_at),
            str(tree),
        ],
        check=True,
    )


def pack_dependencies(layer: str, output: Path, platform: tuple[str, ...]) -> None:
    """Installs, prunes and strips one dependency layer, for the given platform."""
    install(wanted(layer), output, platform)
    prune(layer, output)
    strip(output)


def pack_layer(layer: str, directory: Path) -> None:
    """Fills ``directory/python``, which Lambda mounts as ``/opt/python``."""
    output = directory / "python"
    if layer in PACKED_WITH:
        pack_dependencies(layer, output, LAMBDA_PLATFORM)
    else:
        shutil.copytree(ROOT / "shared", output, ignore=NOT_SHIPPED, dirs_exist_ok=True)
    compile_bytecode(output, "/opt/python")


def pack_function(name: str, directory: Path) -> None:
    """Copies ``functions/NAME``, which Lambda mounts as ``/var/task``."""
    source = ROOT / "functions" / name
    shutil.copytree(source, directory, ignore=NOT_SHIPPED, dirs_exist_ok=True)
    compile_bytecode(directory, "/var/task")


def main() -> None:
    """Reads the command line and packs."""
    parser = argparse.ArgumentParser(description="Pack a layer or a function for Lambda.")
    parser.add_argument("kind", choices=["layer", "function"])
    parser.add_argument("name")
    parser.add_argument("directory", type=Path)
    wish = parser.parse_args()
    (pack_layer if wish.kind == "layer" else pack_function)(wish.name, wish.directory)


if __name__ == "__main__":
    main()
