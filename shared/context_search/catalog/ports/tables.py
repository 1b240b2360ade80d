"""Tables and their documents, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from context_search.catalog.rules.versions import BY_SQL, Origin
from context_search.core.model import Table


@dataclass(frozen=True, slots=True)
class Part:
    """A value inside a document, as JSON text.

    ``text`` None: it is too long, or it ``lacks`` what was asked for. ``size``: its length in
    bytes. If its numbers alone are too long: theirs.
    """

    revision: int
    size: int
    text: str | None
    is_string: bool
    lacks: bool = False

    @property
    def is_too_long(self) -> bool:
        """Whether it has over as many bytes as were asked for."""
        return self.text is None and not self.lacks


@dataclass(frozen=True, slots=True)
class StringsAt:
    """The strings at a place of a document and below it: how long the longest is, in characters.

    0 where there is none; None where nobody looked, because the document is large.
    """

    longest: int | None


MOST_COUNTED_TOOLS = 1_000
"""Maximum number of tools of a table that a list counts."""


@dataclass(frozen=True, slots=True)
class ListedTable:
    """A table in a list. ``stored_bytes``: what Postgres keeps of the document, compressed.

    ``tools_count``: at most MOST_COUNTED_TOOLS. ``index_ids``: the indexes that serve its tools.
    """

    table: Table
    stored_bytes: int
    tools_count: int
    index_ids: Sequence[int]


@dataclass(frozen=True, slots=True)
class TablePage:
    """Tables by id, and the id to go on after when there are more to look at."""

    rows: Sequence[ListedTable]
    next_after: int | None


class Tables(Protocol):
    """JSON documents. Deleted tables are invisible."""

    def add(
        self,
        project_id: int,
        name: str,
        description: str | None,
        data_json: str,
        *,
        origin: Origin = BY_SQL,
    ) -> Table:
        """Creates a table with its document."""
        ...

    def find(self, table_id: int, *, project_id: int) -> Table | None:
        """Returns a live table of that project."""
        ...

    def names(self, project_id: int, table_ids: Sequence[int]) -> dict[int, str]:
        """Returns the names of those that are live tables of a project."""
        ...

    def ids(self, project_id: int, *, after: int, limit: int) -> list[int]:
        """Returns live tables of a project with higher ids, ascending."""
        ...

    def page(
        self,
        project_id: int,
        *,
        after: int,
        limit: int,
        among: int,
        part_of_name: str | None = None,
    ) -> TablePage:
        """Returns live tables of a project with higher ids, at most ``limit``, of those ``among``.

        ``part_of_name``: only those whose name contains it, whatever the case. A page may be short,
        or empty, while there is more to look at. Reads no document.
        """
        ...

    def count(self, project_id: int) -> int:
        """Returns how many live tables a project has."""
        ...

    def lock(self, table_id: int, *, with_project: bool = False) -> int | None:
        """Keeps the document from changing until the transaction ends; returns its revision.

        None when the table is gone or deleted. One at a time has the lock, and it never reads the
        document, so that many can take it one after another. ``with_project`` keeps the project
        from being deleted, too: for those who add what refers to it, in the order in which a
        delete takes them.
        """
        ...

    def size(self, table_id: int) -> int:
        """Returns how many bytes the JSON text has, about; 0 when the table is gone."""
        ...

    def read(self, table_id: int) -> tuple[int, str]:
        """Returns the revision and the JSON text of the document.

        Raises NotFoundError, and DocumentTooLargeError when the numbers in it, written out, take
        over 256,000,000 bytes.
        """
        ...

    def part(
        self, table_id: int, path: Sequence[str], *, max_bytes: int, holding: Sequence[str] = ()
    ) -> Part | None:
        """Returns the value at an unescaped path, its text if that has at most so many bytes.

        With ``holding``, pieces of JSON text as Postgres writes it, only a text that has one of
        them. None when the path leads nowhere. Never takes more of a document than it returns.
        """
        ...

    def strings_at(self, table_id: int, path: Sequence[str], *, measured: bool) -> StringsAt | None:
        """Returns the strings at an unescaped path, None when it leads nowhere.

        Measures them if so wanted, of documents that take up to 5 MB.
        """
        ...

    def replace(
        self,
        table_id: int,
        data_json: str,
        *,
        expected_revision: int | None,
        origin: Origin = BY_SQL,
    ) -> Table | None:
        """Writes a new document; None when the revision is another one.

        The caller records what is overwritten. Without ``origin`` it is what another program does.
        """
        ...

    def mark_deleted(self, table_id: int) -> None:
        """Makes a table and its tools invisible at once."""
        ...
