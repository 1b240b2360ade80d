"""Changes of settings at the same time: none is lost, and a version has one winner."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from context_search.catalog.project_settings import ManageSettings
from context_search.core.errors import ConflictError
from context_search.postgres.pool import Database
from context_search.searching.rules.retrieval import RetrievalSettings
from context_search.store import PostgresStore
from tests.builders import Workbench

Change = Callable[[RetrievalSettings], RetrievalSettings]


def test_changes_of_different_fields_are_all_kept(database: Database) -> None:
    bench = Workbench.of(PostgresStore(database))
    change = ManageSettings(bench.store, RetrievalSettings).change
    changes: list[Change] = [
        lambda settings: replace(settings, top_k=9),
        lambda settings: replace(settings, min_score=0.25),
        lambda settings: replace(settings, max_tokens=77),
        lambda settings: replace(settings, neighbours=3),
        lambda settings: replace(settings, redaction=False),
        lambda settings: replace(settings, kinds=("email",)),
    ]
    with ThreadPoolExecutor(len(changes)) as pool:
        list(pool.map(lambda each: change(bench.principal, each), changes))
    with bench.store.for_all("test") as work:
        stored = work.projects.settings(RetrievalSettings, bench.principal.project_id)
    assert stored.version == len(changes)
    assert stored.settings == RetrievalSettings(9, 0.25, 77, 3, redaction=False, kinds=("email",))


def test_of_changes_to_the_same_version_one_wins(database: Database) -> None:
    bench = Workbench.of(PostgresStore(database))
    change = ManageSettings(bench.store, RetrievalSettings).change

    def attempt(top_k: int) -> int:
        try:
            change(
                bench.principal, lambda settings: replace(settings, top_k=top_k), if_versions=[0]
            )
        except ConflictError:
            return 0
        return top_k

    with ThreadPoolExecutor(6) as pool:
        winners = [top_k for top_k in pool.map(attempt, range(10, 16)) if top_k]
    with bench.store.for_all("test") as work:
        stored = work.projects.settings(RetrievalSettings, bench.principal.project_id)
    assert [stored.settings.top_k] == winners
    assert stored.version == 1
