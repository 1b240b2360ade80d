"""Makes new decisions final: adds their hashes to docs/decisions/FINAL.sha256.

    python -m scripts.final_decisions

Ends with 1, and changes nothing, where a decision that is final was edited.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

DECISIONS = Path(__file__).resolve().parents[1] / "docs" / "decisions"
LIST = DECISIONS / "FINAL.sha256"
PAGES = "[0-9]*.md"
SUPERSEDED = "Superseded by "


def final_hash(text: str) -> str:
    """Returns sha256 (hex) of a decision without its header line ``Superseded by NNNN``."""
    lines = text.split("\n")
    if len(lines) > 3 and lines[2].startswith(SUPERSEDED):
        del lines[2:4]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def written(folder: Path = DECISIONS) -> dict[str, str]:
    """Returns the hash of every decision by the name of its file."""
    return {path.name: final_hash(path.read_text("utf-8")) for path in folder.glob(PAGES)}


def listed(path: Path = LIST) -> dict[str, str]:
    """Returns the hashes that are final, by the name of the file."""
    pairs = (line.split() for line in path.read_text("utf-8").splitlines())
    return {name: digest for digest, name in pairs}


def edited(now: dict[str, str], final: dict[str, str]) -> list[str]:
    """Returns the names of final decisions that are gone or say something else."""
    return sorted(name for name, digest in final.items() if now.get(name) != digest)


def main() -> int:
    """Adds what is new. Returns the exit code."""
    now, final = written(), listed()
    if changed := edited(now, final):
        print(f"final, and edited: {', '.join(changed)}", file=sys.stderr)
        return 1
    rows = sorted((now | final).items())
    LIST.write_text("".join(f"{digest}  {name}\n" for name, digest in rows), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
