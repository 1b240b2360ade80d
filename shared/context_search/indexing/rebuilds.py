"""Builds an index anew beside the one that answers, and switches when the new one is complete."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from context_search.access.lookup import index_of, live_tool, opened_for, project_index
from context_search.budgets.spending import NO_LIMITS, check_ceiling
from context_search.core.callers import Caller, Principal
from context_search.core.config import ANALYSIS_VERSION, CHUNKER_VERSION, IndexConfig, Model
from context_search.core.errors import ConflictError, DatabaseUnavailableError, NotFoundError
from context_search.core.limits import DailyLimits
from context_search.core.messages import CompareIndex
from context_search.core.model import Index
from context_search.core.pages import page_of
from context_search.indexing.calibrate import estimated_cost
from context_search.indexing.rules.indexes import Size
from context_search.store import Store, UnitOfWork

REBUILDS_AT_ONCE = 2
TOOLS_PER_PAGE = 500
RETIRED_AT_ONCE = 100
CHUNKS_PER_SECOND = 200


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a rebuild will take, its calibration included.

    ``vectors_kept``: chunks whose vectors are read back, as long as the model's parameters are what
    they were. ``cost`` is that of the others; None when no price is configured.
    """

    nodes: int
    chunks: int
    tokens: int
    vectors_kept: int
    cost: float | None
    seconds: int


@dataclass(frozen=True, slots=True)
class Rebuilds:
    """Orders generations: new ones on today's ``model``, and the one before the last switch.

    ``daily``: what may be spent for a project.
    """

    store: Store
    model: Model
    daily: DailyLimits = NO_LIMITS

    def start(self, tool_id: int, caller: Caller) -> Index:
        """Returns the new generation, ``building`` or ``queued``; the pending one if there is one.

        Raises NotFoundError, SpendingCeilingError, and ConflictError when the table already has
        such an index.
        """
        return self._start(
            lambda work: index_of(work, live_tool(work, tool_id, caller)), self.daily
        )

    def start_of_project(self, principal: Principal) -> Index:
        """Does what ``start`` does, for the index of a project. Raises ProjectIndexOffError."""
        return self._start(lambda work: project_index(work, principal), self.daily)

    def start_of_index(self, index_id: int) -> Index:
        """Does what ``start`` does, for an index of any project, also of one that has spent all."""
        return self._start(lambda work: _found(work.indexes.find(index_id)), NO_LIMITS)

    def _start(self, find: Callable[[UnitOfWork], Index], daily: DailyLimits) -> Index:
        with self.store.for_all("change a generation") as work:
            index = find(work)
            if not work.indexes.lock(index):
                raise NotFoundError("the index went away")
            pending = work.indexes.pending(index.id)
            if pending is not None:
                return pending
            check_ceiling(work, index.project_id, daily)
            config = current_config(index, self.model)
            if config != index.config and work.indexes.has_index(index.table_id, config):
                raise ConflictError("the table has such an index already: create the tool again")
            work.indexes.retire_previous(index.id, older_than_s=0)  # two generations, never three
            generation = work.indexes.start_rebuild(index, config, at_once=REBUILDS_AT_ONCE)
            if work.indexes.revive(index.id) or generation.generation.state == "building":
                work.send(CompareIndex(index.id, index.table_id))
            return generation

    def reindex(self, principal: Principal) -> list[Index]:
        """Rebuilds every index of a project that is not evicted; returns the new generations.

        Some have to wait for their turn.
        """
        with self.store.for_all("change a generation") as work:
            whole = work.indexes.of_project(principal.project_id)
        tools: dict[int, int] = {}
        after: int | None = 0
        while after is not None:
            with self.store.for_all("change a generation") as work:
                page = work.tools.page(principal.project_id, after=after, limit=TOOLS_PER_PAGE)
                for tool in page:
                    if index_of(work, tool).evicted_at is None:
                        tools.setdefault(tool.index_id, tool.id)
            after = page[-1].id if len(page) == TOOLS_PER_PAGE else None
        has_whole = whole is not None and whole.evicted_at is None
        started = [self.start_of_project(principal)] if has_whole else []
        return started + [self.start(tool_id, principal) for tool_id in tools.values()]

    def roll_back(self, tool_id: int, caller: Caller) -> Index:
        """Lets the generation before the last switch answer again, brought up to the document.

        Raises NotFoundError, and ConflictError when the earlier generation is not kept.
        """
        return self._switch_back(lambda work: index_of(work, live_tool(work, tool_id, caller)))

    def roll_back_of_project(self, principal: Principal) -> Index:
        """Does what ``roll_back`` does, for a project's index.

        Raises ProjectIndexOffError and ConflictError.
        """
        return self._switch_back(lambda work: project_index(work, principal))

    def _switch_back(self, find: Callable[[UnitOfWork], Index]) -> Index:
        with self.store.for_all("change a generation") as work:
            index = find(work)
            if not work.indexes.lock(index):
                raise NotFoundError("the index went away")
            previous = work.indexes.previous(index.id)
            if previous is None:
                raise ConflictError("there is no earlier generation to go back to")
            differs = previous.config != index.config
            if differs and work.indexes.has_index(index.table_id, previous.config):
                raise ConflictError("another index of the table has the earlier configuration")
            work.indexes.switch(previous)
            work.tools.mark_incomplete(index.id)
            work.send(CompareIndex(index.id, index.table_id))
        return replace(previous, generation=replace(previous.generation, state="active"))

    def estimate(self, tool_id: int, caller: Caller) -> Estimate:
        """Counts what the index holds now: the dry run. Raises NotFoundError."""
        with opened_for(self.store, caller) as work:
            index = index_of(work, live_tool(work, tool_id, caller))
        return self.estimate_of(index)

    def estimate_of(self, index: Index) -> Estimate:
        """Counts what an index holds now."""
        with self.store.for_project(index.project_id) as work:
            size = work.indexes.size(index)
        texts = _tokens(size)
        calibration = estimated_cost(size, texts)
        keeps = _has_same_vectors(index.config, current_config(index, self.model))
        price, embedded = self.model.price, calibration + (0 if keeps else texts)
        return Estimate(
            nodes=size.nodes,
            chunks=size.chunks,
            tokens=texts + calibration,
            vectors_kept=size.chunks if keeps else 0,
            cost=None if price is None else round(embedded * price / 1e6, 6),
            seconds=math.ceil(size.chunks / CHUNKS_PER_SECOND),
        )


def _found(index: Index | None) -> Index:
    if index is None:
        raise NotFoundError("the index went away")
    return index


def current_config(index: Index, model: Model) -> IndexConfig:
    """Returns an index's own settings on today's model, chunker and analysis."""
    return replace(
        index.config,
        model=model.name,
        dimensions=model.dimensions,
        window_tokens=model.window_tokens,
        precision=model.precision,
        chunker_version=CHUNKER_VERSION,
        analysis_version=ANALYSIS_VERSION,
    )


def _has_same_vectors(one: IndexConfig, other: IndexConfig) -> bool:
    """Whether two configurations make the same vectors: their words may differ, and where those
    are kept.
    """
    return one == replace(other, storage=one.storage, analysis_version=one.analysis_version)


def _tokens(size: Size) -> int:
    """Returns about how many tokens a text has: 3 bytes of CJK a token, 4 of ASCII."""
    wide = (size.bytes - size.characters) // 2
    return wide + (size.characters - wide) // 4


def retire_outdated(store: Store, *, older_than_s: float) -> int:
    """Retires generations that were switched away from that long ago, and returns how many.

    Each under its table's lock, so that nobody who is just going back to one loses it; where the
    table is busy for long, the next run tries again.
    """
    with store.for_all("change a generation") as work:
        outdated = work.indexes.outdated(older_than_s=older_than_s, limit=RETIRED_AT_ONCE)
    retired = 0
    for index in outdated:
        with suppress(DatabaseUnavailableError), store.for_all("change a generation") as work:
            if work.indexes.lock(index):
                retired += work.indexes.retire_previous(index.id, older_than_s=older_than_s)
    return retired


INDEXES_PER_CALL = 50
"""Number of indexes of all projects that one request looks at."""


@dataclass(frozen=True, slots=True)
class OrderedRebuilds:
    """What became of a page of indexes, and the id to go on after when there are more.

    ``generations`` were ordered, now or before, and are not finished. ``up_to_date`` are built as
    today's settings say, ``evicted`` are built again by the next search: these two stay as they
    are. ``refused``: ids of indexes whose table has another one with the configuration to come.
    """

    generations: list[Index]
    up_to_date: int
    evicted: int
    refused: list[int]
    next_after: int | None


@dataclass(frozen=True, slots=True)
class EstimatedRebuilds:
    """What the rebuilds of a page will take together, and the id to go on after."""

    indexes: int
    estimate: Estimate
    next_after: int | None


@dataclass(frozen=True, slots=True)
class RebuildAll:
    """Indexes of all projects, by id. ``outdated``: only those that would become others."""

    store: Store
    rebuilds: Rebuilds

    def start(self, *, after: int, outdated: bool) -> OrderedRebuilds:
        """Orders the rebuilds of a page. A second call orders what is not under way."""
        page, next_after = self._page(after)
        to_come = list(self._to_come(page, outdated=outdated))
        done = OrderedRebuilds([], 0, 0, [], next_after)
        for index in to_come:
            try:
                done.generations.append(self.rebuilds.start_of_index(index.id))
            except ConflictError:
                done.refused.append(index.id)
            except NotFoundError:  # deleted since the page was read
                continue
        evicted = sum(index.evicted_at is not None for index in page)
        up_to_date = len(page) - evicted - len(to_come)
        return OrderedRebuilds(done.generations, up_to_date, evicted, done.refused, next_after)

    def estimate(self, *, after: int, outdated: bool) -> EstimatedRebuilds:
        """Returns what ``start`` would order, and what that takes: the dry run."""
        page, next_after = self._page(after)
        found = [
            self.rebuilds.estimate_of(index) for index in self._to_come(page, outdated=outdated)
        ]
        costs = [one.cost for one in found if one.cost is not None]
        total = Estimate(
            nodes=sum(one.nodes for one in found),
            chunks=sum(one.chunks for one in found),
            tokens=sum(one.tokens for one in found),
            vectors_kept=sum(one.vectors_kept for one in found),
            cost=None if self.rebuilds.model.price is None else round(sum(costs), 6),
            seconds=sum(one.seconds for one in found),
        )
        return EstimatedRebuilds(len(found), total, next_after)

    def _page(self, after: int) -> tuple[list[Index], int | None]:
        with self.store.for_all("change a generation") as work:
            rows = work.indexes.page(after=after, limit=INDEXES_PER_CALL + 1)
        page = page_of(rows, lambda index: index.id, INDEXES_PER_CALL)
        return [*page.rows], page.next_after

    def _to_come(self, page: list[Index], *, outdated: bool) -> Iterator[Index]:
        for index in page:
            is_other = current_config(index, self.rebuilds.model) != index.config
            if index.evicted_at is None and (is_other or not outdated):
                yield index
