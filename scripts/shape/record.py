"""The figures of each release, a line each, in a file under version control."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def append(path: Path, version: str, figures: Mapping[str, str]) -> None:
    """Add a line to a table with tabs, which gets its head with the first one.

    Raises ValueError for a version that the table has, and for other figures than it has.
    """
    head = "\t".join(["version", *figures])
    lines = path.read_text().splitlines() if path.exists() else [head]
    if lines[0] != head:
        raise ValueError(f"{path.name} has other columns: {lines[0]!r}")
    if any(line.split("\t")[0] == version for line in lines[1:]):
        raise ValueError(f"{path.name} has a line for {version}")
    path.write_text("\n".join([*lines, "\t".join([version, *figures.values()])]) + "\n")
