"""What is sealed opens with its own key only, and not when it was changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.access.idempotency import BrokenSealError, seal, sealing_key, unseal

KEY = sealing_key("cs_a", "answers")


@given(st.binary(max_size=2_000))
def test_what_is_sealed_opens_again_and_looks_different_each_time(text: bytes) -> None:
    sealed = seal(text, KEY)
    assert unseal(sealed, KEY) == text
    assert seal(text, KEY) != sealed


@pytest.mark.parametrize("key", [sealing_key("cs_b", "answers"), sealing_key("cs_a", "others")])
def test_another_key_opens_nothing(key: bytes) -> None:
    with pytest.raises(BrokenSealError):
        unseal(seal(b"text", KEY), key)


@given(st.integers(0, 31), st.integers(1, 255))
def test_a_changed_byte_is_noticed(position: int, change: int) -> None:
    sealed = bytearray(seal(b"text", KEY))
    sealed[position] ^= change
    with pytest.raises(BrokenSealError):
        unseal(bytes(sealed), KEY)


@pytest.mark.parametrize("length", range(0, 28, 9))
def test_what_is_too_short_is_broken(length: int) -> None:
    with pytest.raises(BrokenSealError):
        unseal(bytes(length), KEY)
