"""How answers for an ``Idempotency-Key`` are sealed and kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.access.idempotency import BrokenSealError, seal, sealing_key, unseal
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


def test_keys_of_tenants_have_nothing_to_do_with_each_other(bench: Bench) -> None:
    assert claim(bench, "a") is None
    assert claim(bench, "b", key=RequestKey(8, b"key")) is None
    assert claim(bench, "c", key=RequestKey(7, b"other")) is None
    with bench.store.for_all("test") as work:
        counts = [work.idempotency_keys.count(7, at_most=most) for most in (1, 2, 9)]
        assert counts == [1, 2, 2]
        assert work.idempotency_keys.count(9, at_most=9) == 0


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


SEAL = sealing_key("cs_a", "answers")


@given(st.binary(max_size=2_000))
def test_what_is_sealed_opens_again_and_looks_different_each_time(text: bytes) -> None:
    sealed = seal(text, SEAL)
    assert unseal(sealed, SEAL) == text
    assert seal(text, SEAL) != sealed


@pytest.mark.parametrize("key", [sealing_key("cs_b", "answers"), sealing_key("cs_a", "others")])
def test_another_key_opens_nothing(key: bytes) -> None:
    with pytest.raises(BrokenSealError):
        unseal(seal(b"text", SEAL), key)


@given(st.integers(0, 31), st.integers(1, 255))
def test_a_changed_byte_is_noticed(position: int, change: int) -> None:
    sealed = bytearray(seal(b"text", SEAL))
    sealed[position] ^= change
    with pytest.raises(BrokenSealError):
        unseal(bytes(sealed), SEAL)


@pytest.mark.parametrize("length", range(0, 28, 9))
def test_what_is_too_short_is_broken(length: int) -> None:
    with pytest.raises(BrokenSealError):
        unseal(bytes(length), SEAL)
