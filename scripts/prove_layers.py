"""Proves what ``sam build`` made: it fits Lambda, and what was left out is not missed.

Sizes and machine code are read from the built folders. Whether the pruned layers still work is
tried on this machine: the same pinned versions, pruned by the same lists, with wheels for this
platform, in processes that can import nothing else.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from scripts.elf import AARCH64, machine
from scripts.layer_contents import PACKED_WITH, ROOT, install, pins, read_pins
from scripts.package import LAMBDA_PYTHON, compile_bytecode, lambda_python, pack_dependencies
from scripts.provider_trial import VARIABLES

BUILT = ROOT / ".aws-sam" / "build"
SHARED = BUILT / "SharedLayer" / "python"
HOST = ROOT / ".build" / "host"
RUNTIME_CLIENT = ROOT / "requirements" / "runtime.txt"
LIMIT_MB = 123  # Lambda's own limit is 250, layers and function together
# So that the build says which of them has grown; a function has our own code only.
LIMITS_MB = {"CoreLayer": 47, "EmbeddingLayer": 72, "SharedLayer": 6}
FUNCTION_LIMIT_MB = 1
# What the Lambda runtime itself brings, at the versions the local stack has.
RUNTIME = ("boto3", "botocore", "s3transfer", "jmespath", "python-dateutil", "six", "urllib3")
LAYERS_OF = {
    "create_tool": ("core",),
    "cleanup": ("core",),
    "index_node": ("core", "embedding"),
    "search": ("core", "embedding"),
}


class ProofError(Exception):
    """The build is not what it must be."""


def megabytes(folder: Path) -> float:
    """The bytes of all files, as Lambda counts them unzipped."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def check_sizes(built: Path = BUILT) -> None:
    """Prints each built folder's size. Raises ProofError over its limit, or over that of all."""
    limits = {
        folder.name: LIMITS_MB.get(folder.name, FUNCTION_LIMIT_MB)
        for folder in sorted(built.iterdir())
        if folder.is_dir()
    }
    sizes = {name: megabytes(built / name) for name in limits}
    sizes["total"], limits["total"] = sum(sizes.values()), LIMIT_MB
    for name, size in sizes.items():
        print(f"{name:24}{size:8.1f} MB unzipped, of {limits[name]}")
    for name, size in sizes.items():
        if size > limits[name]:
            raise ProofError(f"{name}: {size:.1f} MB is over {limits[name]} MB")


def check_own_code() -> None:
    """Raises ProofError when the shared layer has more than our packages: no tests, no fakes."""
    shipped = {path.name for path in SHARED.iterdir()}
    if shipped != {"context_search", "context_search_editing"}:
        raise ProofError(f"the shared layer holds {', '.join(sorted(shipped))}")


def check_machine_code() -> None:
    """Raises ProofError for a compiled module that is not for Lambda's processor."""
    modules = list(BUILT.rglob("*.so"))
    for module in modules:
        if machine(module.read_bytes()) != AARCH64:
            raise ProofError(f"{module.relative_to(BUILT)} is not for aarch64")
    print(f"{len(modules)} compiled modules, all for aarch64")


def check_bytecode() -> None:
    """Counts the modules that every cold start would compile, and warns of them."""
    sources = list(BUILT.rglob("*.py"))
    bare = [s for s in sources if not list(s.parent.glob(f"__pycache__/{s.stem}.cpython-313.pyc"))]
    print(f"{len(sources)} modules, {len(bare)} without .pyc")
    if bare:
        print(
            f"WARNING: this machine has no Python {LAMBDA_PYTHON}, so .pyc files are missing.\n"
            "         The build works, but its cold starts take two to three times as long."
        )


def install_for_this_machine(python: str) -> None:
    """The layers again with this platform's wheels, and what Lambda's runtime adds to them.

    ``make prove-runtime`` and ``make prove-deploy`` run the functions with them.
    """
    shutil.rmtree(HOST, ignore_errors=True)
    for layer in PACKED_WITH:
        pack_dependencies(layer, HOST / layer / "python", ("--python", python))
        compile_bytecode(HOST / layer / "python", "/opt/python")
    install_runtime(HOST / "runtime", ("--python", python))


def install_runtime(target: Path, platform: tuple[str, ...]) -> None:
    """What Lambda has in ``/var/runtime``: its client and boto3."""
    embedding = pins("embedding")
    runtime = {name: embedding[name] for name in RUNTIME} | read_pins(RUNTIME_CLIENT)
    install(runtime, target, platform)
    compile_bytecode(target, "/var/runtime")


def run_alone(python: str, arguments: list[str]) -> None:
    """Runs Python without environment and installed packages. Raises ProofError if it fails."""
    if subprocess.run([python, "-I", "-S", *arguments], env={}, check=False).returncode:
        raise ProofError("the trial above failed")


def check_imports(python: str) -> None:
    """Imports every handler with only its own layers, as a cold start does.

    And what no start imports: what checks tokens, cuts documents and finds patterns.
    """
    for function, layers in LAYERS_OF.items():
        folder = BUILT / f"{function.title().replace('_', '')}Function"
        paths = [folder, *(HOST / layer / "python" for layer in layers), SHARED, HOST / "runtime"]
        program = "import sys; sys.path[:0] = sys.argv[1:]; import app; assert app.lambda_handler; "
        program += "import context_search.integrations.oidc, pyfastcdc.cy, re2"
        run_alone(python, ["-c", program, *map(str, paths)])
        print(f"{function} starts with the layers shared, {', '.join(layers)}")


def difference(whole: dict[str, Any], shipped: dict[str, Any]) -> list[str]:
    """What two runs of ``provider_trial`` disagree in, a line each."""
    missed = sorted(set(shipped["missing"]) - set(whole["missing"]))
    before, after = whole["outcomes"], shipped["outcomes"]
    return [f"{name} is looked for" for name in missed] + [
        f"{call}: {after.get(call)}, before: {before.get(call)}"
        for call in sorted(before.keys() | after.keys())
        if before.get(call) != after.get(call)
    ]


def check_providers(python: str, importable: tuple[Path, ...]) -> None:
    """Raises ProofError when a provider answers otherwise than with the whole of litellm."""
    trial = str(ROOT / "scripts" / "provider_trial.py")
    whole, shipped = (
        json.loads(subprocess.run(command, env=VARIABLES, capture_output=True, check=True).stdout)
        for command in (
            [sys.executable, "-I", trial],
            [python, "-I", "-S", trial, *map(str, importable), str(HOST / "runtime")],
        )
    )
    if differing := difference(whole, shipped):
        raise ProofError("\n".join(["prune.txt removes what is needed:", *differing]))
    replies = list(whole["outcomes"].values())
    print(
        f"litellm: {replies.count('vectors')} embed, {replies.count('ranking')} rank, "
        f"{len(replies)} calls end, as with all of it"
    )


def main() -> None:
    """Runs every check; ends with 1 and one sentence on the first that fails."""
    try:
        check_sizes()
        check_own_code()
        check_machine_code()
        check_bytecode()
        python = lambda_python() or sys.executable
        install_for_this_machine(python)
        check_imports(python)
        trial = str(ROOT / "scripts" / "embedding_trial.py")
        importable = (HOST / "core" / "python", HOST / "embedding" / "python", SHARED)
        run_alone(python, [trial, *map(str, importable)])
        check_providers(python, importable)
    except ProofError as error:
        sys.exit(f"build: {error}")


if __name__ == "__main__":
    main()
