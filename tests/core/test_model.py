"""The one word for the state of an index, from the states of its nodes."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from context_search.core.callers import ProjectKey
from context_search.core.progress import IndexStatus, NodeState, index_status

DONE: dict[NodeState, int] = {"indexed": 3, "skipped": 1}


@pytest.mark.parametrize(
    ("states", "behind", "stalled", "status"),
    [
        ({}, False, False, "ready"),  # nothing to index
        (DONE, False, False, "ready"),
        (DONE, True, False, "indexing"),
        ({}, True, False, "indexing"),
        ({**DONE, "queued": 1}, False, False, "indexing"),
        ({**DONE, "claimed": 1}, False, False, "indexing"),
        ({**DONE, "queued": 0, "claimed": 0}, False, False, "ready"),
        ({**DONE, "quarantined": 1}, False, False, "degraded"),
        ({**DONE, "quarantined": 1, "queued": 1}, False, False, "indexing"),
        ({**DONE, "quarantined": 1}, True, False, "indexing"),
        ({**DONE, "queued": 1}, False, True, "stalled"),
        ({**DONE, "quarantined": 1, "claimed": 2}, True, True, "stalled"),
    ],
)
def test_the_status_is_derived_from_the_nodes(
    states: dict[NodeState, int],
    behind: bool,  # noqa: FBT001 - a column of the table
    stalled: bool,  # noqa: FBT001
    status: IndexStatus,
) -> None:
    assert index_status(states, behind=behind, stalled=stalled) == status


def test_the_nouns_cannot_be_changed() -> None:
    principal = ProjectKey(project_id=1)
    with pytest.raises(FrozenInstanceError):
        principal.project_id = 2  # type: ignore[misc]
