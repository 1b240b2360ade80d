"""Traditional and simplified characters are one to a search."""

from __future__ import annotations

import unicodedata

import pytest

from context_search.text.analysis import match_spans, tokens
from context_search.text.analysis.script_folding import SIMPLIFIED, TRADITIONAL


def test_the_table_is_one_to_one_character_and_folds_in_one_step() -> None:
    assert len(TRADITIONAL) == len(SIMPLIFIED) == len(set(TRADITIONAL)) > 4_000
    assert set(TRADITIONAL).isdisjoint(SIMPLIFIED)
    assert unicodedata.is_normalized("NFKC", TRADITIONAL + SIMPLIFIED)


def test_every_pair_has_the_same_token() -> None:
    assert [tokens(c) for c in TRADITIONAL] == [tokens(c) for c in SIMPLIFIED]


@pytest.mark.parametrize(
    ("traditional", "simplified"),
    [("資料庫", "资料库"), ("臺灣大學", "台湾大学"), ("憂鬱的烏龜", "忧郁的乌龟")],
)
def test_either_script_finds_the_other(traditional: str, simplified: str) -> None:
    assert tokens(traditional) == tokens(simplified)
    assert match_spans(traditional, simplified) == [(0, len(traditional))]
    assert match_spans(simplified, traditional) == [(0, len(simplified))]
