"""Nodes with one protection taken out, for ``mutants.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from context_search.core.errors import LeaseLostError
from context_search.core.filters import Fields
from context_search.core.model import Claim, Index
from context_search.core.progress import NodeState
from context_search.indexing.rules.nodes import NodeUpsert
from tests.faults.simulation.model.nodes import ModelNodes
from tests.faults.simulation.model.removals import remove_sets


class NodesWithoutFence(ModelNodes):
    """Whoever once claimed a node may write to it.

    Set numbers and the re-read at the swap already keep a late worker's vectors out. What only
    the fence prevents is seen at the write itself (I6): a late worker gives back, or quarantines,
    a node that another one is working on or has finished.
    """

    def _change_row(self, claim: Claim, **values: object) -> None:
        if claim.node_id not in self.rows.nodes:
            raise LeaseLostError("gone")
        self.rows.change(self.rows.nodes, claim.node_id, **values)


class NodesThatKeepTheirWorker(ModelNodes):
    """A change of the document does not take the node away from its worker."""

    def upsert(self, index: Index, table_id: int, nodes: Sequence[NodeUpsert]) -> list[int]:
        before = dict(self.rows.nodes)
        queued = super().upsert(index, table_id, nodes)
        for node_id in queued:
            old = before.get(node_id)
            if old and old.state == "claimed":
                values = {"fence": old.fence, "state": "claimed", "lease_until": old.lease_until}
                self.rows.change(self.rows.nodes, node_id, **values)
        return queued


class QuarantineTakesAll(ModelNodes):
    """A node that fails for good loses the version that is searchable."""

    def quarantine(self, claim: Claim, error: Mapping[str, object]) -> None:
        super().quarantine(claim, error)
        rows = self.rows
        sets = [row.id for row in rows.sets.values() if row.node_id == claim.node_id]
        remove_sets(rows, self.clock, sets)
        rows.change(rows.nodes, claim.node_id, active_set_id=None)


class KeepsWhatIsHalfBuilt(ModelNodes):
    """What was being built for a node that is put aside stays for ever."""

    def _put_aside(self, claim: Claim, state: NodeState, error: Mapping[str, object]) -> None:
        self._change_row(claim, state=state, lease_until=None, last_error=error)


class NotesNoFields(ModelNodes):
    """A field that changes without its string is not noted."""

    def note_fields(self, fields: Mapping[int, Fields]) -> None:
        del fields
