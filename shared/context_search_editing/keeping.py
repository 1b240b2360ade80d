"""The upkeep of plans: they go on, expire, lose their texts, and are removed."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.core.messages import ExecutePlan
from context_search.maintenance.cleanup import Step
from context_search.maintenance.cleanup_report import CleanupReport
from context_search.store import Store, UnitOfWork

PLANS_PER_STEP = 100
PLANS_EMPTIED_PER_STEP = 20
"""Each may have 20,000 strings."""
STRINGS_PER_STEP = 20_000


@dataclass(frozen=True, slots=True)
class KeptPlans:
    """What became of plans, in counts. ``is_done``: nothing more has to."""

    revived: int
    expired: int
    texts_purged: int
    removed: int
    is_done: bool


def keep_plans(store: Store, *, silent_s: float) -> KeptPlans:
    """Does what time has brought about, each plan in a transaction of its own.

    Plans that were not executed in their time expire. A silent plan that a worker has to go on with
    gets a new message. Unusable texts, strings of deleted tables, plans that are a year old and
    plans of deleted projects are deleted.
    """
    with store.for_all("maintenance") as work:
        expired = work.plans.expire(limit=PLANS_PER_STEP)
        silent = work.plans.silent(silent_s=silent_s, limit=PLANS_PER_STEP)
        work.send(*(ExecutePlan(plan_id) for plan_id in silent))
        strings = work.plans.purge_strings(limit=STRINGS_PER_STEP)
        outlived = work.plans.outlived(limit=PLANS_EMPTIED_PER_STEP)
        purgeable = work.plans.purgeable(limit=PLANS_EMPTIED_PER_STEP)
    for plan_id in outlived:
        with store.for_all("maintenance") as work:
            if not _is_being_undone(work, plan_id):
                work.plans.purge_texts(plan_id)
    for plan_id in purgeable:
        with store.for_all("maintenance") as work:
            work.plans.remove(plan_id)
    is_done = (
        max(expired, len(silent)) < PLANS_PER_STEP
        and len(outlived) < PLANS_EMPTIED_PER_STEP
        and not purgeable
        and strings < STRINGS_PER_STEP
    )
    return KeptPlans(len(silent), expired, len(outlived), len(purgeable), is_done)


def keep_plans_step(store: Store, *, silent_s: float) -> Step:
    """Returns the step of cleanup."""

    def keep(report: CleanupReport) -> bool:
        kept = keep_plans(store, silent_s=silent_s)
        report.plans_revived += kept.revived
        report.plans_expired += kept.expired
        report.plan_texts_forgotten += kept.texts_purged
        report.plans_removed += kept.removed
        return not kept.is_done

    return Step("keep_plans", keep, due=("plans",))


def _is_being_undone(work: UnitOfWork, plan_id: int) -> bool:
    """Locks a plan. An undo that began since it was listed needs its texts."""
    plan = work.plans.lock(plan_id)
    if plan is None or plan.undone_by is None:
        return False
    undo = work.plans.find(plan.undone_by, project_id=plan.project_id)
    return undo is not None and undo.state in ("ready", "executing")
