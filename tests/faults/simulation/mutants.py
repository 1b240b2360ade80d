"""The design with one thing wrong: each of these must be caught, or the simulation is blind.

The list is that of the decisions which docs/consistency.md explains. ``seed`` is one that
catches the mutant (``record.py``), ``within`` how many to try when the code has changed since.
"""

from __future__ import annotations

from tests.faults.simulation import faulty_limits as limits
from tests.faults.simulation import faulty_messages as messages
from tests.faults.simulation import faulty_nodes as nodes
from tests.faults.simulation import faulty_plans as plans
from tests.faults.simulation import faulty_rows as rows
from tests.faults.simulation import faulty_steps as steps
from tests.faults.simulation import faulty_versions as versions
from tests.faults.simulation.model.store import work_with
from tests.faults.simulation.mutation import Mutation

MUTANTS = [
    Mutation("no fence", unit_of_work=work_with(nodes=nodes.NodesWithoutFence), seed=7),
    Mutation(
        "no re-read at the swap",
        unit_of_work=work_with(
            nodes=nodes.NodesThatKeepTheirWorker, chunks=rows.ChunksWithoutReread
        ),
        is_seen_in_small=True,
        within=3_000,
        seed=426,
    ),
    Mutation("no grace for tombstones", grace_s=0, is_seen_in_small=True, within=3_000, seed=912),
    Mutation(
        "sections of other scopes",
        unit_of_work=work_with(comparisons=rows.SectionsOfOtherScopes),
        within=1_000,
        seed=2,
    ),
    Mutation("vectors before their rows", indexer=steps.VectorsBeforeRows, seed=1),
    Mutation("no tombstones", unit_of_work=work_with(chunks=rows.ChunksWithoutTombstones), seed=8),
    Mutation(
        "acknowledge first, no reconciler",
        seed=2,
        acknowledges_first=True,
        cleanup=steps.NoReconciler,
    ),
    Mutation("no reconciler", seed=2, cleanup=steps.NoReconciler),
    Mutation(
        "send without outbox, no reconciler",
        seed=1,
        unit_of_work=work_with(outbox=rows.ForgetfulOutbox),
        cleanup=steps.NoReconciler,
    ),
    Mutation("deleting a tool takes shared chunks", tools=steps.DeleteSharedChunks, seed=12),
    Mutation(
        "search without hydration",
        unit_of_work=work_with(live_chunks=rows.UnhydratedChunks),
        seed=6,
    ),
    Mutation(
        "noted fields are believed",
        unit_of_work=work_with(live_chunks=rows.BelievesNotedFields),
        filters=True,
        seed=94,
    ),
    Mutation(
        "fields are not noted",
        unit_of_work=work_with(nodes=nodes.NotesNoFields),
        filters=True,
        seed=12,
    ),
    Mutation(
        "kept under another heading",
        unit_of_work=work_with(chunks=rows.KeptUnderAnotherHeading),
        seed=12,
    ),
    Mutation("kept where it was", unit_of_work=work_with(chunks=rows.KeptWhereItWas), seed=9),
    Mutation("kept and deleted", unit_of_work=work_with(chunks=rows.KeptAndDeleted), seed=50),
    Mutation(
        "half a set for a whole one",
        unit_of_work=work_with(chunks=rows.TakenForWhole),
        is_seen_in_small=True,
        within=3_000,
        seed=1_662,
    ),
    Mutation(
        "words forgotten in steps",
        unit_of_work=work_with(chunks=rows.WordsForgottenInSteps),
        seed=4,
    ),
    Mutation("old set deleted first", unit_of_work=work_with(chunks=rows.OldSetFirst), seed=8),
    Mutation("present on a timeout", indexer=steps.PresentOnTimeout, seed=12),
    Mutation(
        "vectors before their rows, together", indexer=steps.VectorsBeforeRowsTogether, seed=4
    ),
    Mutation("present on a timeout, together", indexer=steps.PresentOnTimeoutTogether, seed=12),
    Mutation("swap without a claim", indexer=steps.SwapsWithoutHolding, seed=2),
    Mutation("content ids", unit_of_work=work_with(chunks=rows.ContentIds), seed=64),
    Mutation(
        "content ids, tombstones cancelled",
        unit_of_work=work_with(chunks=rows.ContentIdsThatCancelTombstones),
        is_seen_in_small=True,
        within=3_000,
        seed=558,
    ),
    Mutation(
        "quarantine takes all",
        unit_of_work=work_with(nodes=nodes.QuarantineTakesAll),
        within=3_000,
        seed=570,
    ),
    Mutation(
        "orphans while built",
        unit_of_work=work_with(chunks=rows.OrphansWhileBuilt),
        within=3_000,
        seed=187,
    ),
    Mutation(
        "the sweep believes an old list", sweep=steps.BelievesAnOldList, within=3_000, seed=374
    ),
    Mutation("tombstones forgotten first", cleanup=steps.TombstonesForgottenFirst, seed=1),
    Mutation(
        "namespaces forgotten first", cleanup=steps.NamespaceForgottenFirst, within=3_000, seed=4
    ),
    Mutation("edits reach one generation", unit_of_work=work_with(indexes=rows.ActiveOnly), seed=4),
    Mutation("tools deleted unseen", unit_of_work=work_with(comparisons=rows.ToolsUnseen), seed=37),
    Mutation("switch without a look", completion=steps.SwitchesUnseen, seed=6),
    Mutation(
        "evicts what is in use",
        unit_of_work=work_with(indexes=limits.EvictsWhatIsInUse),
        within=1_000,
        seed=282,
    ),
    Mutation(
        "evicts without need", unit_of_work=work_with(indexes=limits.EvictsWithoutNeed), seed=6
    ),
    Mutation(
        "revived unordered, no comparison",
        unit_of_work=work_with(indexes=limits.RevivesUnordered),
        cleanup=steps.NoComparison,
        seed=33,
    ),
    Mutation("no comparison", cleanup=steps.NoComparison, within=3_000, seed=69),
    Mutation("windows forgotten", unit_of_work=work_with(removals=rows.ForgetsWindows), seed=5),
    Mutation(
        "half built for ever", unit_of_work=work_with(nodes=nodes.KeepsWhatIsHalfBuilt), seed=181
    ),
    Mutation(
        "evicted, yet indexed",
        unit_of_work=work_with(indexes=limits.EvictedFollows),
        within=3_000,
        seed=78,
    ),
    Mutation("rests over what is due", scheduled_cleanup=steps.RestsOverWhatIsDue, seed=4),
    Mutation("rests after work", scheduled_cleanup=steps.RestsAfterWork, seed=1),
    Mutation("no window", unit_of_work=work_with(outbox=messages.NoWindow), seed=2),
    Mutation(
        "each write its order", unit_of_work=work_with(outbox=messages.EachWriteItsOrder), seed=1
    ),
    Mutation("sent again while in the queue", cleanup=messages.SendsAgain, seed=1),
    Mutation(
        "begun late, nothing withdrawn",
        unit_of_work=work_with(outbox=messages.NeverWithdraws),
        outbox=messages.BeginsLate,
        seed=7,
    ),
    Mutation("forgotten first", outbox=messages.ForgetsFirst, seed=6),
    Mutation(
        "waits for ever",
        unit_of_work=work_with(quotas=limits.WaitsForEver),
        within=3_000,
        seed=155,
    ),
    Mutation(
        "nothing is recorded",
        unit_of_work=work_with(versions=versions.ForgetsToRecord),
        edits=True,
        seed=2,
    ),
    Mutation(
        "pieces are believed",
        unit_of_work=work_with(versions=versions.RecordsNoPieces),
        edits=True,
        seed=2,
    ),
    Mutation(
        "another text is recorded",
        unit_of_work=work_with(versions=versions.RecordsAnotherText),
        edits=True,
        seed=2,
    ),
    Mutation(
        "erased, yet there",
        unit_of_work=work_with(versions=versions.ErasesNothing),
        edits=True,
        seed=6,
    ),
    Mutation(
        "an origin is borrowed",
        unit_of_work=work_with(tables=versions.BorrowsOurOrigin),
        edits=True,
        seed=1,
    ),
    Mutation(
        "named pieces are collected",
        unit_of_work=work_with(versions=versions.CollectsWhatIsNamed),
        edits=True,
        seed=3,
    ),
    Mutation(
        "unused pieces are kept",
        unit_of_work=work_with(versions=versions.CollectsNothing),
        edits=True,
        seed=6,
    ),
    Mutation("no hash at execute", executes=plans.ExecutesWithoutLooking, replaces=True, seed=0),
    Mutation("any engine executes", executes=plans.ExecutesWithAnyEngine, replaces=True, seed=137),
    Mutation("the next match", executes=plans.ExecutesTheNextOne, replaces=True, seed=10),
    Mutation("executed too late", executes=plans.ExecutesTooLate, replaces=True, seed=14),
    Mutation("executed for anyone", executes=plans.ExecutesForAnyone, replaces=True, seed=1),
    Mutation("plan ends later", executes=plans.EndsThePlanLater, replaces=True, seed=10),
    Mutation(
        "written as it was read",
        writer=plans.WritesWhatItRead,
        replaces=True,
        within=1_000,
        seed=453,
    ),
    Mutation("replaced, not recorded", writer=plans.RecordsNothing, replaces=True, seed=10),
    Mutation(
        "replaced, recorded afterwards", executes=plans.RecordsAfterwards, replaces=True, seed=10
    ),
    Mutation(
        "done before it is written",
        one_by_one=plans.DoneBeforeItIs,
        replaces=True,
        seed=25,
        leaves_to_worker=True,
    ),
    Mutation(
        "many plans at once",
        unit_of_work=work_with(plans=plans.ManyAtOnce),
        replaces=True,
        seed=10,
        leaves_to_worker=True,
    ),
    Mutation(
        "what an undo needs is pruned",
        unit_of_work=work_with(versions=plans.PrunesWhatUndosNeed),
        edits=True,
        replaces=True,
        seed=41,
    ),
    Mutation("undone blindly", undos=plans.UndoesWithoutLooking, replaces=True, seed=35),
    Mutation("a plan is left for good", seed=8, cleanup=plans.NeverRevived, replaces=True),
]
