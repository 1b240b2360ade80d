"""The strings of a table that a caller sees, as an index lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class SeenNode(NamedTuple):
    """A string of an index: where it stands, and how many characters it has.

    A tuple, because a table may have 200,000 of them.
    """

    id: int
    json_pointer: str
    length: int


@dataclass(frozen=True, slots=True)
class SeenTable:
    """A table at a revision, with the strings that an index knows of it.

    ``nodes`` None: the index does not know this revision yet; the document says what there is.
    """

    revision: int
    nodes: Sequence[SeenNode] | None
