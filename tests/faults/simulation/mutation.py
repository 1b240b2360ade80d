"""What a faulty variant of the design changes."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.catalog.tools import ManageTools
from context_search.indexing.completion import IndexCompletion
from context_search.indexing.indexer import Indexer
from context_search.indexing.worker import WorkerOutbox
from context_search.maintenance.cleanup import Cleanup
from context_search.maintenance.scheduled_cleanup import ScheduledCleanup
from context_search.maintenance.sweep import Sweep
from context_search_editing.executing import ExecutePlans
from context_search_editing.executing_in_worker import OneByOne
from context_search_editing.undoing import UndoPlans
from context_search_editing.write_documents import WriteDocuments
from tests.faults.simulation.conditions import GRACE_S
from tests.faults.simulation.model.store import ModelUnitOfWork


@dataclass
class Mutation:
    """The parts that a variant puts in place of the real ones; the design itself changes nothing.

    ``is_seen_in_small`` gives every history of it a small world, where the same text comes and
    goes; ``edits`` lets users look back in every history, ``replaces`` lets them replace,
    ``leaves_to_worker`` leaves all of that to a worker, ``filters`` lets them filter. ``seed`` is
    one that catches it as the code stands; where that has changed, one of the first ``within``
    seeds does.
    """

    name: str = "the design"
    unit_of_work: type[ModelUnitOfWork] = ModelUnitOfWork
    indexer: type[Indexer] = Indexer
    tools: type[ManageTools] = ManageTools
    cleanup: type[Cleanup] = Cleanup
    outbox: type[WorkerOutbox] = WorkerOutbox
    completion: type[IndexCompletion] = IndexCompletion
    sweep: type[Sweep] = Sweep
    scheduled_cleanup: type[ScheduledCleanup] = ScheduledCleanup
    executes: type[ExecutePlans] = ExecutePlans
    undos: type[UndoPlans] = UndoPlans
    one_by_one: type[OneByOne] = OneByOne
    writer: type[WriteDocuments] = WriteDocuments
    grace_s: float = GRACE_S
    acknowledges_first: bool = False
    has_project_index: bool = False
    is_seen_in_small: bool = False
    edits: bool = False
    replaces: bool = False
    leaves_to_worker: bool = False
    filters: bool = False
    seed: int = 0
    within: int = 400
