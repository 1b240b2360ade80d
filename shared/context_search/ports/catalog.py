"""Projects, tables, Search Tools and uploads, as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, Protocol

from context_search.domain.config import SearchConfig
from context_search.domain.model import (
    Index,
    Project,
    Scope,
    SearchTool,
    Table,
    ToolRecord,
    ToolSettings,
)
from context_search.domain.uploads import NewUpload, Upload
from context_search.domain.versions import BY_SQL, Origin

if TYPE_CHECKING:  # a search does without them
    from context_search.domain.judged_sets import JudgedSet


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


ValueKind = Literal["object", "array", "string", "number", "boolean", "null"]
"""Kind of a JSON value, as ``jsonb_typeof`` has it."""
SHOWN_CHARS = 120
"""Maximum length of the text that is shown of a scalar among others."""


@dataclass(frozen=True, slots=True)
class TextWindow:
    """Characters ``start`` to ``end`` of a string that has ``total``; offsets are code points.

    ``text`` None: the value is no string. ``content_hash``: sha256 of the whole string in UTF-8,
    hexadecimal.
    """

    revision: int
    start: int
    end: int
    total: int
    content_hash: str
    text: str | None


@dataclass(frozen=True, slots=True)
class ChildValue:
    """A member of an object, or an element of an array, without what lies below it.

    ``position``: among its siblings, from 0. ``length``: members, elements, characters of a string,
    or of a number as it is written; None for others. ``size``: bytes as Postgres holds it.
    ``text``: the first SHOWN_CHARS of a scalar; None for others.
    """

    position: int
    key: str
    kind: ValueKind
    length: int | None
    size: int
    text: str | None


@dataclass(frozen=True, slots=True)
class Children:
    """A value of a document, and some of what is directly below it.

    ``next_after``: from which position on there is more; None: there is none.
    """

    revision: int
    kind: ValueKind
    length: int | None
    children: Sequence[ChildValue]
    next_after: int | None

    @classmethod
    def page(
        cls,
        revision: int,
        kind: ValueKind,
        length: int | None,
        found: Sequence[ChildValue],
        *,
        limit: int,
        most_chars: int,
    ) -> Children:
        """Returns the first of what was found: so many, with keys of so many characters together.

        A key that is longer comes alone.
        """
        chars = accumulate(len(child.key) for child in found)
        fitting = sum(upto <= most_chars for upto in chars)
        kept = min(limit, max(fitting, 1))
        behind = found[kept].position if kept < len(found) else None
        return cls(revision, kind, length, found[:kept], behind)


class Outlines(Protocol):
    """Documents of any size, piece by piece.

    Postgres reads the whole document for each piece, this process only the piece.
    """

    def window(
        self, table_id: int, path: Sequence[str], *, start: int, length: int
    ) -> TextWindow | None:
        """Returns so many characters of the string at an unescaped path, as far as it has them.

        None when the path leads nowhere.
        """
        ...

    def children(
        self,
        table_id: int,
        path: Sequence[str],
        *,
        after: int,
        limit: int,
        most_chars: int,
        part_of_key: str | None = None,
    ) -> Children | None:
        """Returns what stands directly below an unescaped path, from position ``after`` on.

        Not more than ``limit``, and their keys have at most ``most_chars`` characters together,
        unless the first has more. Members stand as Postgres has them. ``part_of_key``: only members
        whose key contains it, whatever the case; of an array the element of that number. None when
        the path leads nowhere.
        """
        ...


@dataclass(frozen=True, slots=True)
class ListedProject:
    """A project in a list. Tables and Search Tools are counted to MOST_COUNTED.

    ``building``: generations of its indexes that are being built or wait for it.
    """

    project_id: int
    name: str | None
    tables_count: int
    tools_count: int
    building: int


MOST_COUNTED = 1_000
"""Maximum number of tables, and of tools, of a project that a list counts."""


class Projects(Protocol):
    """Tenants. Deleted ones are not there."""

    def add(self, name: str) -> Project:
        """Creates a project."""
        ...

    def exists(self, project_id: int) -> bool:
        """Says whether there is such a project."""
        ...

    def name(self, project_id: int) -> str | None:
        """Returns what a project is called; None also where another program gave no name."""
        ...

    def page(self, *, after: int, limit: int) -> list[ListedProject]:
        """Returns projects with ids above ``after``, ascending."""
        ...

    def lock(self, project_id: int) -> bool:
        """Keeps tables from being added until the transaction ends; False without the project.

        Tables that are being added at the moment are visible afterwards.
        """
        ...

    def mark_deleted(self, project_id: int) -> bool:
        """Notes that a project is deleted: its keys and tokens are refused from the commit on.

        False: there is no such project.
        """
        ...


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


@dataclass(frozen=True, slots=True)
class ToolPage:
    """Search Tools by id, and the id to go on after when there are more to look at."""

    rows: Sequence[SearchTool]
    next_after: int | None


class Tools(Protocol):
    """Search Tools.

    Invisible are those that are deleted, or whose table is, and those whose table or index is not
    in their project: another program has moved one of them.
    """

    def add(
        self,
        *,
        project_id: int,
        name: str,
        description: str | None,
        scope: Scope,
        search: SearchConfig,
    ) -> int:
        """Creates a Search Tool and returns its id."""
        ...

    def find(self, tool_id: int, *, project_id: int | None) -> SearchTool | None:
        """Returns a live Search Tool; ``project_id`` None is for trusted internal callers."""
        ...

    def change(self, tool_id: int, settings: ToolSettings) -> None:
        """Writes the settings of a Search Tool; what else its row holds stays."""
        ...

    def find_with_index(
        self, tool_id: int, *, project_id: int | None
    ) -> tuple[SearchTool, Index] | None:
        """Returns a live Search Tool and the index that serves it. Every search calls it."""
        ...

    def page(
        self,
        project_id: int,
        *,
        mcp_id: int | None = None,
        table_id: int | None = None,
        after: int,
        limit: int,
    ) -> list[SearchTool]:
        """Returns live Search Tools with ids above ``after``, ascending.

        Of an MCP, those bound; of one table, if it is named.
        """
        ...

    def named(
        self,
        project_id: int,
        part_of_name: str,
        *,
        table_id: int | None = None,
        after: int,
        limit: int,
        among: int,
    ) -> ToolPage:
        """Returns those of ``page`` whose names hold a text, in upper or lower case.

        Looks at ``among`` names at most, so a page may be short or empty while there is more.
        """
        ...

    def first_of_names(self, project_id: int, names: Sequence[str]) -> dict[str, int]:
        """Returns for each name the lowest id of the project's live tools that have it.

        Names are in lower case; those of tools match whatever case their ASCII letters are in.
        """
        ...

    def records(self, tool_ids: Sequence[int]) -> dict[int, ToolRecord]:
        """Returns what the main service keeps with tools; of missing ones nothing."""
        ...

    def unserved(self, project_id: int, *, after: int, limit: int) -> list[UnservedTool]:
        """Returns tools with ids above ``after``, ascending, that are there and have no index.

        A tool that names no project is of its table's.
        """
        ...

    def of_no_project(self, *, limit: int) -> Unowned:
        """Returns unserved tools that name no project that is there, and whose table has none."""
        ...

    def take_over(self, tool_id: int, *, project_id: int) -> bool:
        """Makes an unserved tool one of the project; False when it is gone, or served by now."""
        ...

    def fields_of_index(self, index_id: int) -> list[str]:
        """Returns the names of the fields that live tools of an index filter by, each once."""
        ...

    def of_index(self, index_id: int, *, tool_id: int | None = None) -> list[SearchTool]:
        """Returns the live tools that an index serves, by id; ``tool_id`` asks for that one only.

        Keeps others from writing their summaries until the transaction ends.
        """
        ...

    def mark_unsettled(self, index_id: int) -> None:
        """Makes ``ready`` in the summaries of an index' tools ``indexing``: it changes."""
        ...

    def mark_deleted(self, tool_id: int) -> None:
        """Makes a tool invisible at once."""
        ...

    def write_summary(self, tool_id: int, summary: Mapping[str, object]) -> None:
        """Writes ``metadata.search_index``."""
        ...


class Uploads(Protocol):
    """The rows."""

    def add(self, new: NewUpload) -> Upload:
        """Creates one that is ``pending``, or ``importing`` where the document is a version."""
        ...

    def pending(self, project_id: int, *, younger_than_s: float) -> int:
        """Returns how many of a project's uploads are ``pending`` and were made since then.

        Others who ask the same wait until the transaction ends, so that none is made uncounted.
        """
        ...

    def find(self, upload_id: int, *, table_id: int) -> Upload | None:
        """Returns an upload into that table."""
        ...

    def lock(self, upload_id: int) -> Upload | None:
        """Returns an upload and keeps others from changing it until the transaction ends."""
        ...

    def save(self, upload: Upload) -> None:
        """Writes what may change: state, bytes, revision, runs, last_error; and that it lives."""
        ...

    def silent(self, *, silent_s: float, limit: int) -> list[int]:
        """Returns uploads that are being imported, but were not saved for that long.

        Each is returned once in that time.
        """
        ...

    def outdated(self, *, older_than_s: float, limit: int) -> list[Upload]:
        """Returns uploads that were made that long ago, or whose table is gone."""
        ...

    def forget(self, upload_ids: Sequence[int]) -> None:
        """Deletes rows."""
        ...


class JudgedSets(Protocol):
    """Judged sets of projects, by name."""

    def of_project(self, project_id: int) -> list[JudgedSet]:
        """Returns all sets of a project by name, without their lines."""
        ...

    def find(self, project_id: int, name: str) -> JudgedSet | None:
        """Returns a set with its lines."""
        ...

    def write(self, project_id: int, name: str, lines: str, *, questions: int) -> JudgedSet:
        """Puts a set in the place of the one of that name, if there is one. Its version is new."""
        ...

    def remove(self, project_id: int, name: str) -> None:
        """Deletes a set."""
        ...
