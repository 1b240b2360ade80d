"""A function that does next to nothing: the measure of the others, and what is seen in the jail."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def lambda_handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Takes ``mb`` of memory; tells who it is, and which of the ``folders`` can be written."""
    bytearray(event.get("mb", 0) << 20)
    stat = os.statvfs("/tmp")  # noqa: S108
    return {
        "uid": os.getuid(),
        "home": os.environ.get("HOME"),  # noqa: TID251
        "tmp_mb": stat.f_blocks * stat.f_frsize >> 20,
        "writable": [folder for folder in event.get("folders", []) if _can_write(Path(folder))],
        "shm": Path("/dev/shm").exists(),  # noqa: S108
    }


def _can_write(folder: Path) -> bool:
    try:
        (folder / "trial").write_text("")
    except OSError:
        return False
    return True
