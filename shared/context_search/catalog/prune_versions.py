"""Deletes what histories keep no more."""

from __future__ import annotations

from context_search.catalog.rules.versions import Pruned
from context_search.store import Store

HISTORIES_PER_STEP = 100
VERSIONS_PER_STEP = 1_000


def prune_versions(store: Store) -> Pruned:
    """Prunes the histories that are due, each in a transaction of its own, at most 100.

    First the oldest versions of projects that keep too much leave.
    """
    with store.for_all("maintenance") as work:
        over = work.versions.over_limit(limit=HISTORIES_PER_STEP)
        versions = sum(work.versions.expire_oldest(project_id) for project_id in over)
        due = work.versions.due(limit=HISTORIES_PER_STEP)
    pieces, is_done = 0, versions == 0 and len(due) < HISTORIES_PER_STEP
    for history in due:
        with store.for_all("maintenance") as work:
            pruned = work.versions.prune(history, limit=VERSIONS_PER_STEP)
        versions += pruned.versions
        pieces += pruned.pieces
        is_done &= pruned.is_done
    return Pruned(versions, pieces, is_done)
