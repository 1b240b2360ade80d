"""Which attributes a row of the answer shows, and reading them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from local.turbopuffer.errors import invalid
from local.turbopuffer.namespace import State
from local.turbopuffer.ranking import Hit
from local.turbopuffer.schema import ID, Schema
from local.turbopuffer.vectors import to_wire


@dataclass(frozen=True, slots=True)
class Projection:
    """Names of attributes and vectors to show; ``id`` and ``$dist`` always come."""

    attributes: frozenset[str]
    vectors: Sequence[str]
    encoding: str

    @classmethod
    def of(
        cls,
        included: bool | list[str] | None,  # noqa: FBT001  # it is a JSON value
        excluded: list[str] | None,
        schema: Schema,
        encoding: str,
    ) -> Projection:
        """From ``include_attributes`` or ``exclude_attributes``; 400 for both or unknown names."""
        if included is not None and excluded is not None:
            raise invalid("include_attributes and exclude_attributes exclude each other")
        role = "include_attributes" if excluded is None else "exclude_attributes"
        for name in included if isinstance(included, list) else excluded or ():
            schema.attribute(name, role)
        if excluded is not None:
            if ID in excluded:
                raise invalid("id cannot be excluded")
            names = set(schema.attributes) - set(excluded)
        elif isinstance(included, list):
            names = set(included) - {ID}
        else:
            names = set(schema.attributes) if included else set()
        vectors = [name for name in schema.vectors if name in names]
        return cls(frozenset(names.difference(vectors)), vectors, encoding)

    def rows(self, hits: Sequence[Hit], state: State) -> list[dict[str, Any]]:
        """The answer's rows; null attributes are left out."""
        ids = [state.index.ids[row] for row, _ in hits]
        stored = state.store.attributes(ids) if self.attributes else {}
        columns = [
            (name, state.index.vectors[name].vectors, state.schema.attributes[name].type)
            for name in self.vectors
        ]
        rows = []
        for identity, (row, score) in zip(ids, hits, strict=True):
            shown: dict[str, Any] = {} if score is None else {"$dist": score}
            shown[ID] = identity
            for name, matrix, column in columns:
                shown[name] = to_wire(matrix[row].copy(), column, self.encoding)
            attributes = stored.get(identity, {})
            shown |= {name: v for name, v in attributes.items() if name in self.attributes}
            rows.append(shown)
        return rows
