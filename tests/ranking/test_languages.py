"""Questions in one language, passages in another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.ranking.fusion import ranking
from context_search.ranking.relevance import SAMPLE, across_languages, is_foreign

ENGLISH = "The vectors of a deleted tool disappear after the grace period."
CHINESE = "删除工具之后，向量在宽限期之后消失。设置 DELETE_GRACE_SECONDS 可以调整。"
JAPANESE = "ツールを削除するとベクトルは消えます。"


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("when do vectors disappear?", ENGLISH, False),
        ("when do vectors disappear?", CHINESE, True),
        ("when do vectors disappear?", JAPANESE, True),
        ("向量什么时候消失？", CHINESE, False),
        ("向量什么时候消失？", ENGLISH, True),
        ("with 语句如何调用 __exit__？", ENGLISH, True),
        ("где хранятся копии?", ENGLISH, False),  # another alphabet is not looked at
        ("", "", False),
        ("42", "1234", False),
    ],
)
def test_a_passage_is_foreign_when_only_one_of_both_is_in_han_kana_or_hangul(
    question: str, text: str, expected: object
) -> None:
    assert is_foreign(question, text) == expected


@given(st.text("中あ가aé1。 ", max_size=30))
def test_a_text_is_in_han_kana_or_hangul_when_these_outweigh_five_other_letters_each(
    text: str,
) -> None:
    others = sum(character in "aé" for character in text)
    cjk = sum(character in "中あ가" for character in text)
    assert is_foreign("q", text) == (cjk > others / 5)


def test_only_the_beginning_of_a_text_is_read() -> None:
    assert not is_foreign("q", "x" * SAMPLE + "中" * 10_000)


WIDTH = 0.06


def test_passages_with_the_words_keep_their_order_and_their_score_when_they_match_well() -> None:
    scores = {"a": 0.9, "b": 0.5, "zh": 0.1}
    compared = across_languages(scores, {"zh": 0.6}, {"a": 0.3, "zh": 0.2}, 0.85, WIDTH)
    assert compared == {"a": 0.9, "b": 0.5, "zh": 0.6}


def test_passages_with_few_of_the_words_make_room() -> None:
    scores = {"a": 0.9, "b": 0.5, "zh": 0.1}
    compared = across_languages(scores, {"zh": 0.6}, {"zh": 0.2}, 0.4, WIDTH)
    assert compared == pytest.approx({"a": 0.45, "b": 0.25, "zh": 0.6})


OWN = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6}


@pytest.mark.parametrize(
    ("vector", "third"),
    [
        ({"a": 0.4, "b": 0.3, "zh": 0.2, "en": 0.1}, "zh"),
        ({"a": 0.4, "b": 0.3, "c": 0.2, "zh": 0.1}, "c"),
        ({"en": 0.4, "zh": 0.3}, "en"),
        ({}, "c"),
    ],
)
def test_the_best_in_another_language_is_third_where_its_vector_is_near(
    vector: dict[str, float], third: str
) -> None:
    foreign = {"zh": 0.1, "en": 0.2}
    compared = across_languages({**OWN, **foreign}, foreign, vector, 1.0, WIDTH)
    assert ranking(compared)[:3] == ["a", "b", third]
    assert {name: compared[name] for name in OWN} == OWN


def test_a_place_is_nothing_that_a_better_passage_in_another_language_loses() -> None:
    compared = across_languages({**OWN, "zh": 0.0}, {"zh": 0.95}, {"zh": 0.4}, 1.0, WIDTH)
    assert ranking(compared)[0] == "zh"


FAR = {"a": 0.1, "b": 0.05}


@pytest.mark.parametrize(
    ("relevance", "similarities", "place"),
    [
        (0.02, {"zh": 0.24, "zh2": 0.1, "zh3": 0.1}, 3),
        (0.008, {"zh": 0.17, "zh2": 0.17, "zh3": 0.17}, 6),  # near as all of its kind: weather
        (0.004, {"zh": 0.13, "zh2": 0.01, "zh3": 0.0}, 6),  # the nearest of what is far
        (0.02, {"zh": 0.24}, 3),  # nothing to compare it with
        (0.003, {"zh": 0.11}, 6),
    ],
)
def test_only_a_passage_that_is_near_itself_is_third(
    relevance: float, similarities: dict[str, float], place: int
) -> None:
    own = {name: 0.9 - number / 10 for number, name in enumerate("abcde")}
    foreign = {name: relevance if name == "zh" else 0.0 for name in similarities}
    compared = across_languages({**own, "zh": 0.0}, foreign, {**FAR, **similarities}, 1.0, WIDTH)
    assert ranking(compared).index("zh") + 1 == place
