"""Changes JSON documents: replaced, merged with a patch, or with a part taken out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from context_search.domain.access import Principal
from context_search.domain.documents import check_depth, merge_patch, number_padding, parse_exact
from context_search.domain.errors import (
    ConflictError,
    DocumentTooLargeError,
    InvalidPointerError,
    NotFoundError,
)
from context_search.domain.json_number import MAX_GROWTH
from context_search.domain.json_pointer import remove_value, replace_value, resolve, split
from context_search.domain.json_text import to_json
from context_search.domain.model import Table
from context_search.domain.uploads import MAX_UPLOAD_BYTES
from context_search.ports.store import Store, UnitOfWork
from context_search.services.catalog.tables import live_table


@dataclass(frozen=True, slots=True)
class ChangeDocument:
    """Writes a changed document; the strings that changed are indexed again by themselves.

    Every method raises NotFoundError, InvalidPointerError, ConflictError when ``if_revision`` is
    not the current revision, InvalidDocumentError when the document gets too deep, and
    DocumentTooLargeError when it gets larger than an upload may be, or its numbers, written out,
    over 6,000,000 characters longer than they need be.
    """

    store: Store
    max_bytes: int = MAX_UPLOAD_BYTES

    def replace(
        self,
        principal: Principal,
        table_id: int,
        value: object,
        *,
        pointer: str = "",
        if_revision: int | None = None,
    ) -> Table:
        """Writes ``value`` as the document, or to ``pointer`` inside of it."""
        path = split(pointer)
        if path:
            return self._change(
                principal, table_id, if_revision, lambda before: replace_value(before, path, value)
            )
        with self.store.for_project(principal.project_id) as work:
            table = live_table(work, principal, table_id)
            return self._write(work, table, value, if_revision)

    def merge(
        self,
        principal: Principal,
        table_id: int,
        patch: object,
        *,
        pointer: str = "",
        if_revision: int | None = None,
    ) -> Table:
        """Applies a JSON Merge Patch (RFC 7396) to the document, or to what is at ``pointer``."""
        path = split(pointer)

        def merged(before: object) -> object:
            return replace_value(before, path, merge_patch(resolve(before, path), patch))

        return self._change(principal, table_id, if_revision, merged)

    def remove(
        self,
        principal: Principal,
        table_id: int,
        *,
        pointer: str,
        if_revision: int | None = None,
    ) -> Table:
        """Takes out the member or the element at ``pointer``, which is not the whole document."""
        path = split(pointer)
        if not path:
            raise InvalidPointerError("the whole document cannot be removed: delete the table")
        return self._change(
            principal, table_id, if_revision, lambda before: remove_value(before, path)
        )

    def _change(
        self,
        principal: Principal,
        table_id: int,
        if_revision: int | None,
        change: Callable[[object], object],
    ) -> Table:
        with self.store.for_project(principal.project_id) as work:
            table = live_table(work, principal, table_id)
            work.tables.lock_for_change(table_id)
            before = work.tables.read(table_id)[1]
            try:
                document = change(parse_exact(before))
            except KeyError:
                raise NotFoundError("the pointer leads nowhere in this table") from None
            check_depth(document)
            _check_numbers(before, document)
            return self._write(work, table, document, if_revision)

    def _write(
        self, work: UnitOfWork, table: Table, document: object, if_revision: int | None
    ) -> Table:
        text = to_json(document)
        # A character has at most four bytes: what is far below the limit is not encoded.
        if 4 * len(text) > self.max_bytes < len(text.encode()):
            raise DocumentTooLargeError(f"the document would have over {self.max_bytes} bytes")
        changed = work.tables.replace(table.id, text, expected_revision=if_revision)
        if changed is None:
            raise ConflictError("the table has another revision by now")
        work.send_waiting(changed.project_id)  # a trigger has ordered the comparisons
        return changed


def _check_numbers(before: str, document: object) -> None:
    """What a request may bring by itself would come to any length with many requests.

    A document that is over the limit already, as an upload or SQL may write it, may not get worse.
    """
    after = number_padding(document)
    if after > MAX_GROWTH and after > number_padding(parse_exact(before)):
        raise DocumentTooLargeError(
            "the numbers of the document, written out in full, would take over"
            f" {MAX_GROWTH} characters more than they need"
        )
