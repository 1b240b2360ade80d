"""Rankings whose pages are still read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Rankings(Protocol):
    """Small JSON objects with names that cannot be guessed; a project sees only its own."""

    def keep(self, project_id: int, body: Mapping[str, object], *, at_most: int) -> str:
        """Keeps a ranking and returns its name: 32 hexadecimal digits.

        Of a project's rankings only the newest ``at_most`` are kept.
        """
        ...

    def find(self, project_id: int, name: str, *, max_age_s: float) -> dict[str, object] | None:
        """Returns what was kept under a name, if it is not older than that."""
        ...

    def forget_old(self, *, older_than_s: float) -> int:
        """Deletes rankings of that age; returns how many."""
        ...
