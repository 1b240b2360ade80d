"""Tokens are those of cl100k_base, counted without the network and without litellm."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.integrations.models.litellm_embedder import import_litellm
from context_search.integrations.models.tiktoken_counter import TiktokenCounter

COUNTER = TiktokenCounter()
COUNTER.count("the first count loads it")

# Texts and their tokens, as OpenAI's documents count them for cl100k_base.
KNOWN = {
    "": 0,
    "tiktoken is great!": 6,
    "antidisestablishmentarianism": 6,
    "2 + 2 = 4": 7,
    "お誕生日おめでとう": 9,
}


@pytest.mark.parametrize(("text", "tokens"), KNOWN.items())
def test_known_texts_have_their_known_tokens(text: str, tokens: int) -> None:
    assert COUNTER.count(text) == tokens


def test_a_special_token_in_a_text_is_text() -> None:
    assert COUNTER.count("<|endoftext|>") > 1


@given(st.text())
def test_any_text_has_tokens_and_no_more_than_bytes(text: str) -> None:
    assert bool(text) <= COUNTER.count(text) <= len(text.encode())


@pytest.mark.parametrize("unit", ["a", " ", "\n", "!", "字", "1", "a ", "\u0301", "'s"])
def test_a_long_repetition_is_counted(unit: str) -> None:
    assert COUNTER.count(unit * 100_000) > 500


@pytest.mark.slow
def test_counting_imports_neither_litellm_nor_a_client_of_the_network() -> None:
    program = """
import sys
from context_search.integrations.models.tiktoken_counter import TiktokenCounter
assert "tiktoken" not in sys.modules
print(TiktokenCounter().count("tiktoken is great!"))
assert not {"litellm", "requests", "httpx", "socket"} & set(sys.modules)
"""
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert ended.stdout == "6\n"


@pytest.mark.slow
def test_litellm_cuts_with_the_same_vocabulary() -> None:
    import_litellm()
    from litellm.litellm_core_utils.default_encoding import encoding

    for text in (
        "The quick brown fox's 12345 jumps.\n\n  Over",
        "废弃仓库里的旧照片，2024年。",
        "\t\r\n x",
    ):
        assert COUNTER.count(text) == len(encoding.encode_ordinary(text))
