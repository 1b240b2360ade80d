"""What must hold where users filter: after every search, and at rest."""

from __future__ import annotations

import json
from collections.abc import Mapping

from context_search.core.filters import to_mapping, to_text
from context_search.core.json_pointer import ancestors, resolve, split
from context_search.ranking.search import SearchResult
from tests.faults.simulation.fields import NAMES
from tests.faults.simulation.invariants import check
from tests.faults.simulation.model.rows import Rows
from tests.faults.simulation.world import World
from tests.filtering import oracle


class FilterWatch:
    """I22: the filter of an answer holds for each hit in the document as it is."""

    def __init__(self, world: World) -> None:
        self.rows = world.model_store.rows
        self.others = world.on_answer
        world.on_answer = self.on_answer

    def on_answer(self, answer: SearchResult) -> None:
        """Looks at every hit."""
        self.others(answer)
        wanted = answer.target.reach.filter
        for hit in answer.hits if wanted else ():
            document = json.loads(self.rows.tables[hit.chunk.table_id].data_json)
            fields = seen_from(document, hit.chunk.json_pointer)
            holds = wanted is None or oracle(to_mapping(wanted), fields)
            check(holds, "I22 hit beside its filter", (wanted, fields))


def at_rest(rows: Rows) -> None:
    """I23: what is noted of a searchable string is what its document says."""
    for node in rows.nodes.values():
        generation = rows.generations[node.generation_id]
        index = rows.indexes.get(generation.index_id or 0)
        if index and index.fields and generation.state in ("active", "building"):
            document = json.loads(rows.tables[node.table_id].data_json)
            found = seen_from(document, node.json_pointer)
            wanted = {name: value for name, value in found.items() if name in index.fields}
            check(node.fields is not None, "I23 no fields are noted", node)
            check(to_text(node.fields) == to_text(wanted), "I23 other fields", (node, wanted))


def seen_from(document: object, json_pointer: str) -> Mapping[str, object]:
    """Returns the fields that a string has, found from the outside to the inside."""
    found: dict[str, object] = {}
    for outer in ancestors(json_pointer)[:-1]:
        value = resolve(document, split(outer))
        if isinstance(value, dict):
            found |= {name: value[name] for name in NAMES[0] if name in value}
    return {name: value for name, value in found.items() if value is not None}
