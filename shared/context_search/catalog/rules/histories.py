"""What histories of documents take, and which are too long."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableHistory:
    """The history of one table in one project. A table that changes its owner begins a new one."""

    table_id: int
    project_id: int
