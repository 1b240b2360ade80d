"""Lists in pages, in the order of ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

PAGE = 100
NAMES_LOOKED_AT = 2_000
"""Maximum number of rows whose names a request looks at for a part of one."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Rows, and the id to go on after when there are more."""

    rows: Sequence[T]
    next_after: int | None


def page_of(rows: Sequence[T], id_of: Callable[[T], int], size: int = PAGE) -> Page[T]:
    """Cuts a list that was read with a limit of ``size + 1``."""
    shown = rows[:size]
    return Page(shown, id_of(shown[-1]) if len(rows) > size else None)
