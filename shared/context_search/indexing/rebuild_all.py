"""Rebuilds what a deployment holds, page by page: after a change of model, cuts or analysis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from context_search.core.errors import ConflictError, NotFoundError
from context_search.core.model import Index
from context_search.core.pages import page_of
from context_search.indexing.rebuilds import Estimate, Rebuilds, current_config
from context_search.indexing.rules.indexes import UnderWay
from context_search.store import Store

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

    def under_way(self) -> UnderWay:
        """Returns how many generations are being built, and wait for it."""
        with self.store.for_all("change a generation") as work:
            return work.indexes.rebuilds_under_way()

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
