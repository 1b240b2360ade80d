"""Search Tools, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UnservedTool:
    """A tool of type ``search`` that no index serves: a program of its owner made it.

    Nothing of it has been checked; ``search_config`` is what its column holds, as JSON text.
    """

    id: int
    table_id: int | None
    json_path: str | None
    search_config: str | None


@dataclass(frozen=True, slots=True)
class Unowned:
    """Tools of type ``search`` that no index serves and no project has, and so no other list.

    ``tools`` are the first of them by id, with their names.
    """

    count: int
    tools: Sequence[tuple[int, str | None]]
