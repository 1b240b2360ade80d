"""The design with one thing wrong: each of these must be caught, or the simulation is blind.

The list is that of the decisions which docs/consistency.md explains. ``seed`` is the first one
that catches the mutant, ``within`` how many to try when the code has changed since.
"""

from __future__ import annotations

from tests.simulation import faulty_limits as limits
from tests.simulation import faulty_nodes as nodes
from tests.simulation import faulty_orders as orders
from tests.simulation import faulty_rows as rows
from tests.simulation import faulty_steps as steps
from tests.simulation.faulty_limits import limited_by
from tests.simulation.faulty_rows import work_with
from tests.simulation.mutation import Mutation

MUTANTS = [
    Mutation("no fence", unit_of_work=work_with(nodes=nodes.NodesWithoutFence)),
    Mutation(
        "no re-read at the swap",
        unit_of_work=work_with(
            nodes=nodes.NodesThatKeepTheirWorker, chunks=rows.ChunksWithoutReread
        ),
        is_seen_in_small=True,
        seed=353,
        within=2_000,
    ),
    Mutation("no grace for tombstones", grace_s=0, is_seen_in_small=True, seed=81, within=2_000),
    Mutation("vectors before their rows", index_node=steps.VectorsBeforeRows),
    Mutation("no tombstones", unit_of_work=work_with(chunks=rows.ChunksWithoutTombstones), seed=9),
    Mutation(
        "acknowledge first, no reconciler", acknowledges_first=True, cleanup=steps.NoReconciler
    ),
    Mutation("no reconciler", cleanup=steps.NoReconciler),
    Mutation(
        "send without outbox, no reconciler",
        unit_of_work=work_with(outbox=rows.ForgetfulOutbox),
        cleanup=steps.NoReconciler,
    ),
    Mutation("deleting a tool takes shared chunks", delete_tool=steps.DeleteSharedChunks),
    Mutation("search without hydration", unit_of_work=work_with(chunks=rows.UnhydratedChunks)),
    Mutation("old set deleted first", unit_of_work=work_with(chunks=rows.OldSetFirst)),
    Mutation("present on a timeout", index_node=steps.PresentOnTimeout),
    Mutation("vectors before their rows, together", together=steps.VectorsBeforeRowsTogether),
    Mutation("present on a timeout, together", together=steps.PresentOnTimeoutTogether),
    Mutation(
        "swap without a claim, together", together=steps.SwapsWithoutHolding, seed=42, within=2_000
    ),
    Mutation("content ids", unit_of_work=work_with(chunks=rows.ContentIds), seed=29),
    Mutation(
        "content ids, tombstones cancelled",
        unit_of_work=work_with(chunks=rows.ContentIdsThatCancelTombstones),
        is_seen_in_small=True,
        seed=381,
        within=2_000,
    ),
    Mutation(
        "quarantine takes all",
        unit_of_work=work_with(nodes=nodes.QuarantineTakesAll),
        seed=5,
        within=2_000,
    ),
    Mutation(
        "orphans while built",
        unit_of_work=work_with(chunks=rows.OrphansWhileBuilt),
        seed=128,
        within=2_000,
    ),
    Mutation(
        "the sweep believes an old list", sweep=steps.BelievesAnOldList, seed=212, within=2_000
    ),
    Mutation("tombstones forgotten first", cleanup=steps.TombstonesForgottenFirst, seed=59),
    Mutation("namespaces forgotten first", cleanup=steps.NamespaceForgottenFirst, within=2_000),
    Mutation("edits reach one generation", unit_of_work=work_with(indexes=rows.ActiveOnly)),
    Mutation("tools deleted unseen", unit_of_work=work_with(indexes=rows.ToolsUnseen), seed=37),
    Mutation("switch without a look", settle=steps.SwitchesUnseen, seed=17),
    Mutation(
        "evicts what is in use",
        unit_of_work=limited_by(evictions=limits.EvictsWhatIsInUse),
        seed=17,
    ),
    Mutation("evicts without need", unit_of_work=limited_by(evictions=limits.EvictsWithoutNeed)),
    Mutation(
        "revived unordered, no comparison",
        unit_of_work=limited_by(evictions=limits.RevivesUnordered),
        cleanup=steps.NoComparison,
        seed=17,
    ),
    Mutation("no comparison", cleanup=steps.NoComparison, seed=20, within=2_000),
    Mutation("windows forgotten", unit_of_work=work_with(graveyard=rows.ForgetsWindows)),
    Mutation(
        "half built for ever", unit_of_work=work_with(nodes=nodes.KeepsWhatIsHalfBuilt), seed=238
    ),
    Mutation(
        "evicted, yet indexed", unit_of_work=limited_by(indexes=limits.EvictedFollows), seed=17
    ),
    Mutation("no window", unit_of_work=work_with(outbox=orders.NoWindow)),
    Mutation("each write its order", unit_of_work=work_with(outbox=orders.EachWriteItsOrder)),
    Mutation("sent again while in the queue", cleanup=orders.SendsAgain),
    Mutation("begun late", book=orders.BeginsLate),
    Mutation("forgotten first", book=orders.ForgetsFirst),
    Mutation(
        "waits for ever",
        unit_of_work=limited_by(quotas=limits.WaitsForEver),
        seed=240,
        within=2_000,
    ),
]
