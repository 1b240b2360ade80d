"""Contract of ``Ledger``."""

from __future__ import annotations

from datetime import timedelta

from context_search.core.limits import DailyLimits, Spent
from context_search.core.model import Index
from tests.builders import present
from tests.contract.store.bench import TEXT, Bench, only_postgres

DAY_S = 86_400.0
FREE = DailyLimits()


def index_of(bench: Bench) -> Index:
    _, index = bench.tool(bench.table({"a": TEXT}))
    return index


def spend(bench: Bench, index: Index, limits: DailyLimits = FREE, **what: int) -> bool:
    return bench.work.ledger.spend(index.id, limits, **what)


def days(bench: Bench, index: Index) -> list[Spent]:
    with bench.store.for_project(index.project_id) as work:
        return work.ledger.days(index.project_id, limit=31)


def forget(bench: Bench, *, limit: int = 100) -> int:
    return bench.work.ledger.delete_expired(older_than_days=30, limit=limit)


def test_what_is_spent_for_a_project_is_added_up(bench: Bench) -> None:
    index, other = index_of(bench), index_of(bench)
    assert spend(bench, index, tokens=100)
    assert spend(bench, index, tokens=20)
    assert spend(bench, index, reranks=1)
    assert spend(bench, other, reranks=5)
    [spent], [theirs] = days(bench, index), days(bench, other)
    assert (spent.embedding_tokens, spent.reranks) == (120, 1)
    assert (theirs.embedding_tokens, theirs.reranks) == (0, 5)


def test_who_has_reached_a_limit_spends_no_more_of_that_and_nothing_is_noted(bench: Bench) -> None:
    index, limits = index_of(bench), DailyLimits(embedding_tokens=100, reranks=2)
    assert spend(bench, index, limits, tokens=99)
    assert spend(bench, index, limits, tokens=50)  # the last one goes over it
    assert not spend(bench, index, limits, tokens=1)
    assert [spend(bench, index, limits, reranks=1) for _ in range(3)] == [True, True, False]
    [spent] = days(bench, index)
    assert (spent.embedding_tokens, spent.reranks) == (149, 2)
    assert spend(bench, index, DailyLimits(embedding_tokens=150), tokens=1)


def test_a_project_that_has_spent_its_tokens_has_none_until_the_day_ends(bench: Bench) -> None:
    index, other, most = index_of(bench), index_of(bench), DailyLimits(embedding_tokens=100)

    def spent_for_s(index: Index, limits: DailyLimits) -> float | None:
        with bench.store.for_project(index.project_id) as work:
            return work.ledger.spent_for_s(index.project_id, limits)

    assert spend(bench, index, tokens=99)
    assert spent_for_s(index, most) is None
    assert spend(bench, index, tokens=1)
    left_s = present(spent_for_s(index, most))
    assert 0 < left_s <= DAY_S
    assert spent_for_s(index, DailyLimits(embedding_tokens=101)) is None
    assert spent_for_s(index, FREE) is None
    assert spent_for_s(other, most) is None
    bench.pass_time(DAY_S)
    assert spent_for_s(index, most) is None


def test_an_index_that_is_gone_is_charged_to_nobody(bench: Bench) -> None:
    assert bench.work.ledger.spend(2**60, DailyLimits(1, 1), tokens=9)


@only_postgres
def test_each_day_has_its_row_until_it_is_old(bench: Bench) -> None:
    index, limits = index_of(bench), DailyLimits(embedding_tokens=1)
    for passing in (20, 15):
        assert spend(bench, index, limits, tokens=7)
        bench.pass_time(passing * DAY_S)
    assert not days(bench, index_of(bench))
    first, second = days(bench, index)
    assert first.day - second.day == timedelta(days=20)
    assert forget(bench) == 1
    assert days(bench, index) == [first]
    assert forget(bench) == 0
