"""What a search reads of a large index in Postgres, and how much room its project has left."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from context_search.domain.limits import ProjectLimits
from context_search.domain.model import Reach
from testing.grown_index import GrownIndex

BEST = 100
PATIENCE_S = 60.0
QUESTIONS = {
    "a rare and a common word": ["w19000", "w3"],
    "four common words": ["w1", "w3", "w9", "w27"],
    "six words, one of them in every string": ["x", "w40", "w400", "w900", "w4000", "w5000"],
}


def searches(grown: GrownIndex) -> Mapping[str, Callable[[], object]]:
    """Returns the keyword searches by name. The index has its words."""
    reach = Reach("/strings", None)

    def ask(words: list[str]) -> None:
        with grown.store.for_project(grown.owner.project_id) as work:
            work.keywords.best(
                grown.index, reach, dict.fromkeys(words, 1.0), BEST, timeout_s=PATIENCE_S
            )

    return {
        f"keyword search: {name}": lambda words=words: ask(words)
        for name, words in QUESTIONS.items()
    } | {"room for one more": lambda: is_full(grown)}


def is_full(grown: GrownIndex) -> bool:
    """Says whether a project has no room for another chunk, by the default limits."""
    with grown.store.for_project(grown.owner.project_id) as work:
        return work.quotas.room(grown.index.id, ProjectLimits()).chunks < 1
