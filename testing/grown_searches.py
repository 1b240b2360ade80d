"""What a search reads of a large index in Postgres, and how much room its project has left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from context_search.core.limits import ProjectLimits
from context_search.core.model import Reach
from testing.grown_index import GrownIndex
from testing.grown_rows import FIELD

BEST = 100
PATIENCE_S = 60.0
QUESTIONS = {
    "a rare and a common word": ["w19000", "w3"],
    "four common words": ["w1", "w3", "w9", "w27"],
    "six words, one of them in every string": ["x", "w40", "w400", "w900", "w4000", "w5000"],
}


def searches(grown: GrownIndex) -> Mapping[str, Callable[[], object]]:
    """Returns the keyword searches by name. The index has its words."""
    return {
        f"keyword search: {name}": partial(ask, grown, words) for name, words in QUESTIONS.items()
    } | {"room for one more": lambda: is_full(grown)}


def ask(grown: GrownIndex, words: Sequence[str]) -> None:
    """Asks Postgres for the best chunks with some of these words."""
    with grown.store.for_project(grown.owner.project_id) as work:
        work.keywords.best(
            grown.index,
            Reach(f"/{FIELD}", None),
            dict.fromkeys(words, 1.0),
            BEST,
            timeout_s=PATIENCE_S,
        )


def is_full(grown: GrownIndex) -> bool:
    """Says whether a project has no room for another chunk, by the default limits."""
    with grown.store.for_project(grown.owner.project_id) as work:
        return work.quotas.room(grown.index.id, ProjectLimits()).chunks < 1
