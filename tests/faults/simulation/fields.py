"""Fields of documents, and what users filter by.

In worlds with filters the document says of itself, and of a part of it, whether it is public. How
that is decided takes nothing from the history's own chances, so that histories without filters
stay as they were.
"""

from __future__ import annotations

import random

from context_search.core.filters import Filter, parse_filter

STATES = ("public", "draft", 1, True, None)
FILTERS: tuple[Filter | None, ...] = (
    None,
    parse_filter({"status": {"eq": "public"}}),
    parse_filter({"status": {"in": [1, "draft"]}}),
    parse_filter({"not": {"status": {"eq": "public"}}}),
    parse_filter({"or": [{"status": {"exists": False}}, {"rank": {"gte": 2}}]}),
)
NAMES = (("status", "rank"), ("status", "rank"), ("rank",), ())


class Filters:
    """What users of a world choose; nothing, where it has no filters."""

    def __init__(self, seed: int, *, are_there: bool) -> None:
        self.random = random.Random(f"filters {seed}")
        self.are_there = are_there

    def fielded(self, document: dict[str, object]) -> dict[str, object]:
        """Returns a document with other fields, and the same texts."""
        if not self.are_there:
            return document
        changed = {**document, **self._fields()}
        part = document.get("b")
        if isinstance(part, dict):
            outside = {name: value for name, value in part.items() if name not in NAMES[0]}
            changed["b"] = outside | (self._fields() if self.random.random() < 0.5 else {})
        return changed

    def _fields(self) -> dict[str, object]:
        return {"status": self.random.choice(STATES), "rank": self.random.randrange(4)}

    def only_fields_change(self) -> bool:
        """Says whether an edit leaves the texts as they are."""
        return self.are_there and self.random.random() < 0.5

    def of_a_tool(self) -> dict[str, object]:
        """Returns what the configuration of a tool says of fields."""
        if not self.are_there:
            return {}
        return {
            "filterable": self.random.choice(NAMES),
            "where": self.random.choice((None, None, *FILTERS[1:3])),
        }

    def of_a_caller(self) -> Filter | None:
        """Returns what a search asks for; of some tools it is refused."""
        return self.random.choice(FILTERS) if self.are_there else None
