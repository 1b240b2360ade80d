"""The state of a tool's index: answers and routes."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Response

from context_search.access.lookup import live_tool, opened_for
from context_search.core.callers import Caller, Internal
from context_search.core.config import WeightsFrom
from context_search.core.model import GenerationState
from context_search.core.progress import IndexStatus, NodeState
from context_search.indexing.status import Rebuild, ToolStatus, tool_status
from context_search.ranking.relevance import weights_of
from context_search.ranking.search import EmptyHint
from context_search.store import Store
from context_search.web.callers import InternalOnly, MayRead, SilentS, Stored, ToolId
from context_search.web.fields import (
    Absent,
    AnswerModel,
    Count,
    KnownId,
    NotSearched,
    Number,
    Share,
    StoredJsonAnswer,
    Time,
    TimeText,
    rounded_to,
    source,
)
from context_search.web.polled import NOT_MODIFIED, IfNoneMatch
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, tags=["tools"])


class LastErrorAnswer(StoredJsonAnswer):
    """What went wrong last."""

    code: str
    message: str
    retryable: bool
    at: TimeText


class IntegrityAnswer(StoredJsonAnswer):
    """The last complete comparison of a namespace with Postgres."""

    namespace: str
    at: TimeText
    checked: Count
    missing: Count
    orphans: Count
    repaired: Count


class IndexModelAnswer(AnswerModel):
    """The embedding model that made the vectors of an index, in the words of ``ModelAnswer``."""

    name: Annotated[str, source("model")]
    dimensions: Count
    window_tokens: Count


class CalibrationAnswer(AnswerModel):
    """What was found out about an index without judged questions, and on what."""

    vector_weight: Share | None
    middle: Annotated[Number, rounded_to(4)]
    width: Annotated[Number, rounded_to(4)]
    questions: Count
    chunks: Count
    at: Time


class WeightsAnswer(AnswerModel):
    """What the legs of a search count, relative to each other."""

    vector: Share
    keyword: Annotated[Share, source("bm25")]


class IndexSummaryAnswer(AnswerModel):
    """The summary that ``tool.metadata.search_index`` holds, too."""

    status: IndexStatus
    configured_at: Time | None
    indexed_at: Time | None
    nodes_count: Count
    chunks_count: Count
    indexed_chunks_count: Count
    last_error: LastErrorAnswer | None


class ListedIndexAnswer(IndexSummaryAnswer):
    """The same with the states of the strings, for a list that is asked again and again."""

    nodes: Annotated[dict[NodeState, Count], source("states")]
    next_attempt_at: Time | None


class RebuildProgressAnswer(AnswerModel):
    """The generation that takes the place of the one that answers, when it is complete.

    The counters are its own: ``chunks_count`` grows while strings are cut.
    """

    generation: Annotated[KnownId, source("number")]
    state: GenerationState
    status: IndexStatus
    indexed_at: Time | None
    nodes_count: Count
    chunks_count: Count
    indexed_chunks_count: Count
    last_error: LastErrorAnswer | None
    nodes: Annotated[dict[NodeState, Count], source("states")]

    @classmethod
    def of(cls, rebuild: Rebuild | None) -> RebuildProgressAnswer | None:
        """Returns how far a rebuild is; None without one."""
        if rebuild is None:
            return None
        return cls.about(rebuild.progress, rebuild.index.generation)


def emptiness(status: ToolStatus) -> dict[str, Any]:
    """Returns why nothing will be found, and how long the longest string is where it is known."""
    empty = status.empty
    return {} if empty is None else {"hint": empty.hint, "longest_string": empty.longest}


class NotIndexedAnswer(AnswerModel):
    """A string that is not in the index."""

    json_pointer: str
    char_count: Count
    state: NodeState
    attempts: Count
    next_attempt_at: Time | None
    last_error: LastErrorAnswer | None


class SearchIndexAnswer(AnswerModel):
    """The state of a tool's index: counters, errors, and what is not indexed."""

    tool_id: KnownId
    namespace: str
    status: IndexStatus
    configured_at: Time | None
    indexed_at: Time | None
    nodes_count: Count
    chunks_count: Count
    indexed_chunks_count: Count
    last_error: LastErrorAnswer | None
    nodes: Annotated[dict[NodeState, Count], source("states")]
    integrity: IntegrityAnswer | None
    next_attempt_at: Time | None
    not_searched: NotSearched = None
    not_indexed_count: Count
    not_indexed: list[NotIndexedAnswer]
    weights: WeightsAnswer
    weights_from: Annotated[WeightsFrom, source("weights", "source")]
    calibration: CalibrationAnswer | None
    model: Annotated[IndexModelAnswer, source("config")]
    can_roll_back: bool
    hint: Absent[EmptyHint] = None
    longest_string: Absent[Count] = None
    rebuild: Absent[RebuildProgressAnswer] = None

    @classmethod
    def of(cls, status: ToolStatus) -> SearchIndexAnswer:
        """Returns the state of a tool's index."""
        progress, index = status.progress, status.index
        return cls.about(
            progress,
            index,
            index.generation,
            status,
            tool_id=status.tool.id,
            configured_at=status.tool.created_at,
            not_indexed_count=progress.nodes_count - progress.states.get("indexed", 0),
            weights=weights_of(status.tool.search, index),
            **emptiness(status),
            rebuild=RebuildProgressAnswer.of(status.rebuild),
        )


@router.get(
    "/api/v1/tools/{tool_id}/search-index",
    response_model=SearchIndexAnswer,
    responses=NOT_MODIFIED,
)
async def read_search_index(
    tool_id: ToolId, caller: MayRead, store: Stored, silent_s: SilentS, polled: IfNoneMatch
) -> Response:
    """Returns the counters, errors and skipped strings of a tool's index."""
    return polled.response(_state(store, tool_id, caller, silent_s))


@router.get("/internal/tools/{tool_id}/chunks/stats", dependencies=[InternalOnly])
async def read_chunk_stats(tool_id: ToolId, store: Stored, silent_s: SilentS) -> SearchIndexAnswer:
    """Returns the state of a tool's index, for trusted services."""
    return _state(store, tool_id, Internal(), silent_s)


def _state(store: Store, tool_id: int, caller: Caller, silent_s: float) -> SearchIndexAnswer:
    with opened_for(store, caller) as work:
        status = tool_status(work, live_tool(work, tool_id, caller), silent_s=silent_s)
    return SearchIndexAnswer.of(status)
