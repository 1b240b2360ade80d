"""The order ``plan``: goes on with a plan as its state says, whoever asks and how often."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from context_search.domain.editing.plans import Plan
from context_search.domain.errors import CommitUnknownError, ContextSearchError, ReplaceBusyError
from context_search.domain.orders import CarryOutPlan
from context_search.ports.outside import Deadline
from context_search.ports.store import Store
from context_search.services.alone import alone
from context_search.services.editing.execute import ExecutePlans
from context_search.services.editing.find_edits import WORKER_TEXT_S
from context_search.services.editing.one_by_one import OneByOne
from context_search.services.editing.rewriting import Rewriting
from context_search.services.editing.undo import UndoPlans

BUSY_WORKER_S = 30.0
"""After so many seconds a worker looks again whether another one is done with a plan."""


@dataclass(frozen=True, slots=True)
class CarryOutPlans:
    """Previews, executes and undoes plans that are too large for a request."""

    store: Store
    preview: Callable[[int], str]
    execute: ExecutePlans
    undo: UndoPlans
    documents: OneByOne

    def run(self, plan_id: int, deadline: Deadline) -> str:
        """Returns what was done. Raises what is worth another try.

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
        with self._alone(plan, deadline):
            # Whoever had it until now has gone on with it.
            with self.store.for_project(plan.project_id) as work:
                now = work.plans.find(plan.id, project_id=plan.project_id)
            done = self._go_on(now or plan, deadline)
        if done == "goes_on":  # whoever does comes when nobody has the plan
            with self.store.for_project(plan.project_id) as work:
                work.send(CarryOutPlan(plan.id))
        return done

    @contextmanager
    def _alone(self, plan: Plan, deadline: Deadline) -> Iterator[None]:
        """Of two workers with one plan, one comes again later.

        Else the second would take the first one for dead in the document that both are at.
        """
        pool, lease_s = f"documents of plan {plan.id}", deadline.left_s()
        with alone(self.store, plan.project_id, pool, lease_s=lease_s) as has_it:
            if not has_it:
                raise ReplaceBusyError("another worker has the plan", retry_after_s=BUSY_WORKER_S)
            yield

    def _go_on(self, plan: Plan, deadline: Deadline) -> str:
        try:
            with self._rewriting(plan) as task:
                return self.documents.run(plan, task, deadline)
        except CommitUnknownError:
            raise  # the rows know; the next run looks at them
        except ContextSearchError as error:
            if error.retryable or not error.is_for_callers:
                raise
            return self.documents.stop(plan, "replace" if plan.undoes is None else "undo", error)

    def _rewriting(self, plan: Plan) -> AbstractContextManager[Rewriting]:
        if plan.undoes is not None:
            return self.undo.rewriting(plan)
        return self.execute.rewriting(plan, WORKER_TEXT_S)
