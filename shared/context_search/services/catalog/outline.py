"""Documents of any size, piece by piece: a window of a string."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.domain.access import Principal
from context_search.domain.errors import NotAStringError, NotFoundError
from context_search.domain.json_pointer import split
from context_search.ports.catalog import TextWindow
from context_search.ports.store import Store
from context_search.services.access.lookup import live_table

MAX_WINDOW = 100_000
"""Maximum length of a window of a string, in code points."""


@dataclass(frozen=True, slots=True)
class ReadPieces:
    """Reads documents that are too large for an answer. Raises NotFoundError."""

    store: Store

    def window(
        self, principal: Principal, table_id: int, pointer: str, *, start: int, end: int
    ) -> TextWindow:
        """Returns characters ``start`` to ``end`` of a string, as far as it has them.

        Raises InvalidPointerError and NotAStringError.
        """
        path = split(pointer)
        with self.store.for_project(principal.project_id) as work:
            live_table(work, principal, table_id)
            window = work.outlines.window(table_id, path, start=start, length=end - start)
        if window is None:
            raise NotFoundError("the pointer leads nowhere in this table")
        if window.text is None:
            raise NotAStringError("the value at the pointer is no string")
        return window
