"""Versions of documents, as rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from context_search.catalog.rules.versions import Content, Gap, Overwritten, Version
from context_search.core.model import Table


@dataclass(frozen=True, slots=True)
class Pruned:
    """What left a history: rows of versions, and pieces. ``is_done``: nothing more has to."""

    versions: int = 0
    pieces: int = 0
    is_done: bool = True


class Versions(Protocol):
    """The versions of tables. A ``Table`` is one that was found for its project.

    The store adds a version for every revision, whoever writes it; what is overwritten through us
    is recorded here. Pieces are shared between the versions of one history, and nothing else.
    """

    def overwritten(self, table_id: int, *, project_id: int, max_bytes: int) -> Overwritten:
        """Returns the document, and keeps others from changing it until the transaction ends.

        Its text if that has at most ``max_bytes`` bytes and history is on.
        Raises NotFoundError where ``Tables.find`` finds none.
        """
        ...

    def missing(self, table: Table, pieces: Sequence[bytes]) -> set[bytes]:
        """Returns those hashes of which the history has no piece yet.

        Who has changed the document in this transaction keeps ``Histories.prune`` from collecting
        pieces until it ends.
        """
        ...

    def record(
        self, table: Table, revision: int, content: Content, new: Iterable[tuple[bytes, bytes]]
    ) -> None:
        """Notes the content of a revision that was overwritten in this transaction.

        ``new`` are the hash and the stored form of each piece that may be missing; those that are
        there stay as they are.
        """
        ...

    def note_gap(self, table: Table, revision: int, gap: Gap) -> None:
        """Notes why a revision that is being overwritten is not recorded."""
        ...

    def page(self, table: Table, *, below: int | None, limit: int) -> list[Version]:
        """Returns versions with revisions below that one, the newest first."""
        ...

    def find(self, table: Table, revision: int) -> Version | None:
        """Returns a version."""
        ...

    def pieces(self, table: Table, revision: int, *, first: int, count: int) -> list[bytes]:
        """Returns pieces of a recorded version as they are stored, from number ``first`` on."""
        ...

    def label(self, table: Table, revision: int, label: str | None) -> bool:
        """Gives a version a label, or takes it; adds the version of a revision that has none.

        False when as many others of the table have one as may. Those who label one table take
        turns.
        """
        ...

    def erase(self, table: Table, revision: int | None = None) -> None:
        """Forgets content and label of a version that is not live; None: of all of them.

        The versions stay, as gaps; ``Histories.prune`` deletes the pieces.
        """
        ...
