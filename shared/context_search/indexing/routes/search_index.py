"""The state of a tool's index: answers and routes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Response

from context_search.core.callers import Internal
from context_search.core.config import SearchConfig, WeightsFrom
from context_search.core.model import GenerationState, Index
from context_search.core.progress import IndexStatus, NodeProgress, NodeState, Progress
from context_search.indexing.status import (
    ListedTool,
    Rebuild,
    ToolStatus,
    ToolStatuses,
)
from context_search.ranking.relevance import weights_of
from context_search.ranking.search import EmptyHint
from context_search.web.callers import InternalOnly, MayRead, ToolId, part
from context_search.web.fields import (
    Absent,
    Answer,
    Count,
    KnownId,
    NotSearched,
    Number,
    Share,
    Time,
    TimeText,
)
from context_search.web.polled import NOT_MODIFIED, IfNoneMatch
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, tags=["tools"])


class LastErrorAnswer(Answer):
    """What went wrong last."""

    code: str
    message: str
    retryable: bool
    at: TimeText

    @classmethod
    def of(cls, error: Mapping[str, object] | None) -> LastErrorAnswer | None:
        """Returns an error without what only ``cleanup`` reads in it."""
        return None if error is None else cls.stored(error)


class IntegrityAnswer(Answer):
    """The last complete comparison of a namespace with Postgres."""

    namespace: str
    at: TimeText
    checked: Count
    missing: Count
    orphans: Count
    repaired: Count

    @classmethod
    def of(cls, report: Mapping[str, object] | None) -> IntegrityAnswer | None:
        """Returns what a sweep reported."""
        return None if report is None else cls.stored(report)


class IndexModelAnswer(Answer):
    """The embedding model that made the vectors of an index, in the words of ``ModelAnswer``."""

    name: str
    dimensions: Count
    window_tokens: Count

    @classmethod
    def of(cls, index: Index) -> IndexModelAnswer:
        """Returns the model of the generation that answers."""
        config = index.config
        return cls(
            name=config.model, dimensions=config.dimensions, window_tokens=config.window_tokens
        )


class CalibrationAnswer(Answer):
    """What was found out about an index without judged questions, and on what."""

    vector_weight: Share | None
    middle: Number
    width: Number
    questions: Count
    chunks: Count
    at: Time

    @classmethod
    def of(cls, index: Index) -> CalibrationAnswer | None:
        """Returns what was found; None before that."""
        found = index.generation.calibration
        if found is None:
            return None
        return cls(
            vector_weight=found.vector_weight,
            middle=round(found.middle, 4),
            width=round(found.width, 4),
            questions=found.questions,
            chunks=found.chunks,
            at=found.at,
        )


class WeightsAnswer(Answer):
    """What the legs of a search count, relative to each other."""

    vector: Share
    keyword: Share


def ranking_of(search: SearchConfig, index: Index) -> dict[str, Any]:
    """Returns the members that say how searches of an index are weighed, and why."""
    weights = weights_of(search, index)
    return {
        "weights": WeightsAnswer(vector=weights.vector, keyword=weights.bm25),
        "weights_from": weights.source,
        "calibration": CalibrationAnswer.of(index),
    }


class IndexSummaryAnswer(Answer):
    """The summary that ``tool.metadata.search_index`` holds, too."""

    status: IndexStatus
    configured_at: Time | None
    indexed_at: Time | None
    nodes_count: Count
    chunks_count: Count
    indexed_chunks_count: Count
    last_error: LastErrorAnswer | None

    @classmethod
    def of(cls, status: ToolStatus) -> IndexSummaryAnswer:
        """Returns the summary of a tool's index."""
        return cls(configured_at=status.tool.created_at, **counters(status.progress))


class ListedIndexAnswer(IndexSummaryAnswer):
    """The same with the states of the strings, for a list that is asked again and again."""

    nodes: dict[NodeState, Count]
    next_attempt_at: Time | None

    @classmethod
    def listed(cls, listed: ListedTool) -> ListedIndexAnswer:
        """Returns how far the index of a tool in a list is."""
        progress = listed.progress
        return cls(
            configured_at=listed.tool.created_at,
            **counters(progress),
            nodes=progress.states,
            next_attempt_at=progress.next_attempt_at,
        )


def counters(progress: Progress) -> dict[str, Any]:
    """Returns the members that the state of every index has."""
    return {
        "status": progress.status,
        "indexed_at": progress.indexed_at,
        "nodes_count": progress.nodes_count,
        "chunks_count": progress.chunks_count,
        "indexed_chunks_count": progress.indexed_chunks_count,
        "last_error": LastErrorAnswer.of(progress.last_error),
    }


class RebuildProgressAnswer(Answer):
    """The generation that takes the place of the one that answers, when it is complete.

    The counters are its own: ``chunks_count`` grows while strings are cut.
    """

    generation: KnownId
    state: GenerationState
    status: IndexStatus
    indexed_at: Time | None
    nodes_count: Count
    chunks_count: Count
    indexed_chunks_count: Count
    last_error: LastErrorAnswer | None
    nodes: dict[NodeState, Count]

    @classmethod
    def of(cls, rebuild: Rebuild | None) -> RebuildProgressAnswer | None:
        """Returns how far a rebuild is; None without one."""
        if rebuild is None:
            return None
        generation = rebuild.index.generation
        return cls(
            generation=generation.number,
            state=generation.state,
            **counters(rebuild.progress),
            nodes=rebuild.progress.states,
        )


def emptiness(status: ToolStatus) -> dict[str, Any]:
    """Returns why nothing will be found, and how long the longest string is where it is known."""
    empty = status.empty
    return {} if empty is None else {"hint": empty.hint, "longest_string": empty.longest}


class NotIndexedAnswer(Answer):
    """A string that is not in the index."""

    json_pointer: str
    char_count: Count
    state: NodeState
    attempts: Count
    next_attempt_at: Time | None
    last_error: LastErrorAnswer | None

    @classmethod
    def of(cls, node: NodeProgress) -> NotIndexedAnswer:
        """Returns how far a string has come."""
        return cls(
            json_pointer=node.json_pointer,
            char_count=node.char_count,
            state=node.state,
            attempts=node.attempts,
            next_attempt_at=node.next_attempt_at,
            last_error=LastErrorAnswer.of(node.last_error),
        )


class SearchIndexAnswer(Answer):
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
    nodes: dict[NodeState, Count]
    integrity: IntegrityAnswer | None
    next_attempt_at: Time | None
    not_searched: NotSearched = None
    not_indexed_count: Count
    not_indexed: list[NotIndexedAnswer]
    weights: WeightsAnswer
    weights_from: WeightsFrom
    calibration: CalibrationAnswer | None
    model: IndexModelAnswer
    can_roll_back: bool
    hint: Absent[EmptyHint] = None
    longest_string: Absent[Count] = None
    rebuild: Absent[RebuildProgressAnswer] = None

    @classmethod
    def of(cls, status: ToolStatus) -> SearchIndexAnswer:
        """Returns the state of a tool's index."""
        progress = status.progress
        return cls(
            tool_id=status.tool.id,
            namespace=status.index.generation.namespace,
            configured_at=status.tool.created_at,
            **counters(progress),
            nodes=progress.states,
            integrity=IntegrityAnswer.of(status.integrity),
            next_attempt_at=progress.next_attempt_at,
            not_searched=progress.not_searched,
            not_indexed_count=progress.nodes_count - progress.states.get("indexed", 0),
            not_indexed=[NotIndexedAnswer.of(node) for node in status.not_indexed],
            **ranking_of(status.tool.search, status.index),
            model=IndexModelAnswer.of(status.index),
            can_roll_back=status.can_roll_back,
            **emptiness(status),
            rebuild=RebuildProgressAnswer.of(status.rebuild),
        )


Statuses = Annotated[ToolStatuses, part("tools.statuses")]


@router.get(
    "/api/v1/tools/{tool_id}/search-index",
    response_model=SearchIndexAnswer,
    responses=NOT_MODIFIED,
)
async def read_search_index(
    tool_id: ToolId, caller: MayRead, statuses: Statuses, polled: IfNoneMatch
) -> Response:
    """Returns the counters, errors and skipped strings of a tool's index."""
    return polled.response(SearchIndexAnswer.of(statuses.read(tool_id, caller)))


@router.get("/internal/tools/{tool_id}/chunks/stats", dependencies=[InternalOnly])
async def read_chunk_stats(tool_id: ToolId, statuses: Statuses) -> SearchIndexAnswer:
    """Returns the state of a tool's index, for trusted services."""
    return SearchIndexAnswer.of(statuses.read(tool_id, Internal()))
