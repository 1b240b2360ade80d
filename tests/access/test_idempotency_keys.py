"""How PostgreSQL keeps answers for an ``Idempotency-Key``."""

from __future__ import annotations

from context_search.access.rules.idempotency_keys import RequestKey, SavedResponse
from tests.contract.store.bench import Bench

KEY = RequestKey(7, b"key")


def claim(
    bench: Bench, holder: str, *, key: RequestKey = KEY, request_hash: bytes = b"asked"
) -> SavedResponse | None:
    with bench.store.for_all("test") as work:
        return work.idempotency_keys.claim(
            key, request_hash=request_hash, holder=holder, lease_s=60, kept_s=1000
        )


def keep(bench: Bench, holder: str, answer: bytes = b"answer") -> None:
    with bench.store.for_all("test") as work:
        work.idempotency_keys.keep(KEY, holder=holder, answer=answer)


def test_the_first_to_claim_executes_and_the_others_learn_of_it(bench: Bench) -> None:
    assert claim(bench, "a") is None
    assert claim(bench, "b") == SavedResponse(b"asked", None)
    assert claim(bench, "c", request_hash=b"other") == SavedResponse(b"asked", None)


def test_an_answer_is_there_for_who_comes_later(bench: Bench) -> None:
    claim(bench, "a")
    keep(bench, "a")
    bench.pass_time(500)
    assert claim(bench, "b") == SavedResponse(b"asked", b"answer")


def test_keys_of_tenants_have_nothing_to_do_with_each_other(bench: Bench) -> None:
    assert claim(bench, "a") is None
    assert claim(bench, "b", key=RequestKey(8, b"key")) is None
    assert claim(bench, "c", key=RequestKey(7, b"other")) is None
    with bench.store.for_all("test") as work:
        counts = [work.idempotency_keys.count(7, at_most=most) for most in (1, 2, 9)]
        assert counts == [1, 2, 2]
        assert work.idempotency_keys.count(9, at_most=9) == 0


def test_a_request_that_came_to_nothing_may_be_sent_again(bench: Bench) -> None:
    claim(bench, "a")
    with bench.store.for_all("test") as work:
        work.idempotency_keys.release(KEY, holder="a")
    assert claim(bench, "b", request_hash=b"other") is None


def test_a_request_whose_executor_died_is_taken_over_when_the_lease_is_over(bench: Bench) -> None:
    claim(bench, "dead")
    bench.pass_time(50)
    assert claim(bench, "b") is not None
    bench.pass_time(11)
    assert claim(bench, "b") is None


def test_who_was_taken_over_changes_nothing_any_more(bench: Bench) -> None:
    claim(bench, "slow")
    bench.pass_time(61)
    claim(bench, "b")
    keep(bench, "slow", b"late")
    with bench.store.for_all("test") as work:
        work.idempotency_keys.release(KEY, holder="slow")
    assert claim(bench, "c") == SavedResponse(b"asked", None)
    keep(bench, "b")
    assert claim(bench, "c") == SavedResponse(b"asked", b"answer")


def test_an_answer_counts_no_longer_than_it_is_kept(bench: Bench) -> None:
    claim(bench, "a")
    keep(bench, "a")
    bench.pass_time(1001)
    assert claim(bench, "b") is None
    assert claim(bench, "c") == SavedResponse(b"asked", None)


def test_old_rows_are_forgotten_in_portions(bench: Bench) -> None:
    for name in (b"1", b"2", b"3"):
        claim(bench, "a", key=RequestKey(7, name))
    bench.pass_time(100)
    claim(bench, "a", key=RequestKey(7, b"new"))
    with bench.store.for_all("test") as work:
        forgotten = [
            work.idempotency_keys.delete_expired(older_than_s=50, limit=2) for _ in range(3)
        ]
        assert forgotten == [2, 1, 0]
        assert work.idempotency_keys.count(7, at_most=9) == 1
