"""Compares two versions of a table."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from context_search.access.lookup import live_table
from context_search.budgets.shares import managing
from context_search.catalog.rules.differences import Difference, differences
from context_search.catalog.rules.versions import MAX_READ_BYTES
from context_search.catalog.versions import find_version, text_of
from context_search.core.callers import Principal
from context_search.core.documents import parse_exact
from context_search.core.errors import DocumentTooLargeError, InvalidDocumentError
from context_search.core.model import Table
from context_search.store import Store, UnitOfWork

DIFFERENCES_A_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Compared:
    """Two revisions and a page of their differences; ``next_after`` None: the last page."""

    older: int
    newer: int
    differences: list[Difference]
    next_after: int | None


@dataclass(frozen=True, slots=True)
class CompareVersions:
    """Compares versions of the caller's tables."""

    store: Store

    def compare(
        self, principal: Principal, table_id: int, revision: int, to: int | None, *, after: int
    ) -> Compared:
        """Returns what is different in ``to`` (None: the live revision), from number ``after`` on.

        Raises NotFoundError, VersionNotRecordedError for a gap, DocumentTooLargeError when one of
        both has over 50,000,000 bytes or is too deep, and ManagementBackpressureError.
        """
        with managing(self.store, principal.project_id):
            return self._compared(principal, table_id, revision, to, after)

    def _compared(
        self, principal: Principal, table_id: int, revision: int, to: int | None, after: int
    ) -> Compared:
        with self.store.for_project(principal.project_id) as work:
            table = live_table(work, principal, table_id)
            newer = table.revision if to is None else to
            texts = [_text(work, table, each) for each in (newer, revision)]
        end = after + DIFFERENCES_A_PAGE
        try:
            before = parse_exact(texts.pop())  # neither text is held for long
            now = parse_exact(texts.pop())
            found = list(islice(differences(before, now), after, end + 1))
        except (InvalidDocumentError, RecursionError):
            raise DocumentTooLargeError("the documents are too deep to be compared") from None
        more = end if len(found) > DIFFERENCES_A_PAGE else None
        return Compared(revision, newer, found[:DIFFERENCES_A_PAGE], more)


def _text(work: UnitOfWork, table: Table, revision: int) -> str:
    version = find_version(work, table, revision)
    return text_of(work, table, version, max_bytes=MAX_READ_BYTES)
