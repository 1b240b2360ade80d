"""Records what a change overwrites, in the transaction of the change."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from context_search.catalog.rules.pieces import cut, packed
from context_search.catalog.rules.versions import MAX_RECORDED_BYTES, Gap, Overwritten
from context_search.core.json_text import fits
from context_search.core.model import Table
from context_search.store import UnitOfWork

NOT_ASKED_FOR = 2
"""So few pieces are sent, whether they are there or not: that is quicker than to ask."""


@dataclass(frozen=True, slots=True)
class RecordVersions:
    """Records versions of documents of up to ``max_bytes`` bytes.

    No change is refused for its history: what cannot be recorded is a gap with a reason.
    """

    max_bytes: int = MAX_RECORDED_BYTES

    def record(self, work: UnitOfWork, changed: Table, before: Overwritten) -> None:
        """Records the document that ``changed`` has overwritten.

        A change to what was there already has made no new revision: nothing is recorded.
        """
        if before.settings.is_off or changed.revision == before.revision:
            return
        gap = self.gap_of(before)
        if gap is not None or before.text is None:
            work.versions.note_gap(changed, before.revision, gap or "too_large")
            return
        text = cut(before.text)
        missing: Collection[bytes] = text.pieces.keys()
        if len(missing) > NOT_ASKED_FOR:
            missing = work.versions.missing(changed, list(missing))
        new = ((name, packed(piece)) for name, piece in text.pieces.items() if name in missing)
        work.versions.record(changed, before.revision, text.content, new)

    def gap_of(self, before: Overwritten) -> Gap | None:
        """Returns why a document would not be recorded, where its text is there."""
        if before.settings.is_full(before.used_bytes):
            return "full"
        is_long = before.text is not None and not fits(before.text, self.max_bytes)
        return "too_large" if is_long else None
