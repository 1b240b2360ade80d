"""The order ``plan``: goes on with a plan as its state says, whoever asks and how often."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from context_search.budgets.exclusive import alone
from context_search.core.errors import CommitUnknownError, ContextSearchError
from context_search.core.messages import CarryOutPlan
from context_search.indexing.node_report import RetryLater
from context_search.integrations.ports import Deadline
from context_search.store import Store
from context_search_editing.execute import ExecutePlans
from context_search_editing.find_edits import WORKER_TEXT_S
from context_search_editing.one_by_one import LEASE_S, OneByOne, Turn
from context_search_editing.rewriting import Rewriting
from context_search_editing.rules.plans import Plan
from context_search_editing.undo import UndoPlans

BUSY_WORKER_S = 8.0
"""After so many seconds a worker looks again whether another one is done with a plan. The queue
gives a message up after 20 times, and the other one lives for two minutes.
"""


@dataclass(frozen=True, slots=True)
class CarryOutPlans:
    """Previews, executes and undoes plans that are too large for a request."""

    store: Store
    preview: Callable[[int], str]
    execute: ExecutePlans
    undo: UndoPlans
    documents: OneByOne

    def run(self, plan_id: int, deadline: Deadline) -> str:
        """Returns what was done. Raises RetryLater, and what is worth another try.

        A plan that cannot go on ends: ``failed``, or ``partial`` where something is done.
        """
        with self.store.for_all("carry out a plan") as work:
            plan = work.plans.lock(plan_id)
        if plan is None:
            return "nothing_to_do"
        if plan.state == "previewing":
            return self.preview(plan_id)
        if plan.state != "executing":
            return "nothing_to_do"
        with self._turn(plan, deadline) as turn:
            done = self._go_on(turn)
        if done == "goes_on":  # whoever does comes when nobody has the plan
            with self.store.for_project(plan.project_id) as work:
                work.send(CarryOutPlan(plan.id))
        return done

    @contextmanager
    def _turn(self, plan: Plan, deadline: Deadline) -> Iterator[Turn]:
        """Of two workers with one plan, one comes again later, for it may be the only one then.

        Else the second would take the first one for dead in the document that both are at.
        """
        pool = f"documents of plan {plan.id}"
        with alone(self.store, plan.project_id, pool, lease_s=LEASE_S) as holder:
            if holder is None:
                raise RetryLater(BUSY_WORKER_S)
            with self.store.for_project(plan.project_id) as work:
                # Whoever had it until now has gone on with it.
                now = work.plans.find(plan.id, project_id=plan.project_id)
                work.send(CarryOutPlan(plan.id))  # who takes the plan if this worker is killed
            yield Turn(now or plan, deadline, pool, holder)

    def _go_on(self, turn: Turn) -> str:
        plan = turn.plan
        try:
            with self._rewriting(plan) as task:
                return self.documents.run(turn, task)
        except CommitUnknownError:
            raise  # the rows know; the next run looks at them
        except ContextSearchError as error:
            if error.retryable or not error.is_for_callers:
                raise
            return self.documents.stop(turn, "replace" if plan.undoes is None else "undo", error)

    def _rewriting(self, plan: Plan) -> AbstractContextManager[Rewriting]:
        if plan.undoes is not None:
            return self.undo.rewriting(plan)
        return self.execute.rewriting(plan, WORKER_TEXT_S)
