"""What goes into a dependency layer: its pinned requirements less what its prune list leaves out.

Layers share one folder in Lambda (``/opt/python``), so the embedding layer never repeats a
distribution that the core layer brings.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from scripts.elf import stripped

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ROOT / "layers"
PACKED_WITH = {"core": (), "embedding": ("core",)}


class PackagingError(Exception):
    """A requirements file or a prune list does not describe what is there."""


@dataclass(frozen=True, slots=True)
class PruneList:
    """What stays out; paths are relative to ``python/``.

    ``distributions`` are never installed, ``paths`` are removed but for what ``kept`` names.
    """

    distributions: frozenset[str]
    paths: tuple[str, ...]
    kept: tuple[str, ...]


def read_prune_list(layer: str, layers: Path = LAYERS) -> PruneList:
    """The layer's ``prune.txt``, where it has one.

    A line is ``distribution NAME``, ``path PATH`` or ``keep PATH``; ``#`` begins a comment.
    Raises PackagingError for any other line.
    """
    entries: dict[str, list[str]] = {"distribution": [], "path": [], "keep": []}
    file = layers / layer / "prune.txt"
    for line in file.read_text().splitlines() if file.exists() else ():
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if len(words) != 2 or words[0] not in entries:
            raise PackagingError(f"{file}: cannot read {line!r}")
        entries[words[0]].append(words[1])
    return PruneList(
        frozenset(entries["distribution"]), tuple(entries["path"]), tuple(entries["keep"])
    )


def pins(layer: str, layers: Path = LAYERS) -> dict[str, str]:
    """A layer's pins, see ``read_pins``."""
    return read_pins(layers / layer / "requirements.txt")


def read_pins(file: Path) -> dict[str, str]:
    """Normalised distribution name → its requirement with all hashes, as compiled."""
    blocks = file.read_text().replace(" \\\n    ", "\0").splitlines()
    return {block.split("==")[0]: block.replace("\0", " \\\n    ") for block in blocks if block}


def wanted(layer: str, layers: Path = LAYERS) -> dict[str, str]:
    """The pins to install: less the prune list, less what an accompanying layer brings.

    Raises PackagingError when the prune list names a distribution that is not pinned, or when
    two layers pin different versions.
    """
    pinned = pins(layer, layers)
    pruned = read_prune_list(layer, layers).distributions
    if stale := pruned - pinned.keys():
        raise PackagingError(f"layers/{layer}/prune.txt names {sorted(stale)}, not in the lock")
    shared: set[str] = set()
    for other in PACKED_WITH[layer]:
        brought = wanted(other, layers)
        if differing := {n for n in brought.keys() & pinned.keys() if brought[n] != pinned[n]}:
            raise PackagingError(f"layers {layer} and {other} pin {sorted(differing)} differently")
        shared |= brought.keys()
    return {name: pin for name, pin in pinned.items() if name not in pruned | shared}


def install(requirements: dict[str, str], target: Path, platform: tuple[str, ...]) -> None:
    """Unpacks the pinned wheels into ``target``; ``platform`` is how uv is told which fit."""
    target.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            *(str(ROOT / "scripts" / "uv"), "pip", "install", "--quiet", "--target", str(target)),
            *("--no-deps", "--require-hashes", "--only-binary", ":all:", "--link-mode", "copy"),
            *(*platform, "--requirements", "-"),
        ],
        input="\n".join(requirements.values()),
        text=True,
        check=True,
    )
    (target / ".lock").unlink(missing_ok=True)
    shutil.rmtree(target / "bin", ignore_errors=True)  # console scripts: Lambda runs none
    for record in target.glob("*.dist-info/RECORD"):  # what an installer would remove again
        record.unlink()


def prune(layer: str, target: Path, layers: Path = LAYERS) -> None:
    """Removes the prune list's paths. Raises PackagingError for one that is not there."""
    pruned = read_prune_list(layer, layers)
    kept = {target / name for name in pruned.kept}
    for name in (*pruned.paths, *pruned.kept):
        if not (target / name).exists():
            raise PackagingError(f"layers/{layer}/prune.txt names {name}, which is not there")
    for name in pruned.paths:
        _remove(target / name, kept)


def _remove(path: Path, kept: set[Path]) -> None:
    if path in kept:
        return
    if not path.is_dir():
        path.unlink()
    elif any(path in each.parents for each in kept):
        for inner in path.iterdir():
            _remove(inner, kept)
    else:
        shutil.rmtree(path)


def strip(target: Path) -> None:
    """Takes out of compiled modules what only a debugger reads."""
    for module in target.rglob("*.so"):
        module.write_bytes(stripped(module.read_bytes()))
