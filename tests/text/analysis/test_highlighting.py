"""Which characters of a text light up."""

from __future__ import annotations

import pytest

from context_search.text.analysis import match_spans


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("He RUNS in ﬁne shoes", "running shoes", ["RUNS", "shoes"]),
        ("He RUNS in ﬁne shoes", "fine", ["ﬁne"]),
        ("start HTTPServer2 now", "server", ["Server"]),
        ("start HTTPServer2 now", "httpserver2", ["HTTPServer2"]),
        ("the server of HTTP", "HTTPServer", ["server", "HTTP"]),
        ("open docs/read.me", "read.me", ["read.me"]),
        ("cafe\u0301 creme", "CAFÉ", ["cafe\u0301"]),
        ("the user's", "user", ["user"]),
        ("ＡＢＣ。ABC", "abc", ["ＡＢＣ", "ABC"]),
        ("我们在臺北縣政府", "台北县", ["臺北縣"]),
        ("北京大学和大学生", "大学", ["大学", "大学"]),
        ("ｶﾞｽを使う", "ガス", ["ｶﾞｽ"]),
        ("…㍿です", "株式", ["㍿"]),
        ("the end", "the", []),
        ("nothing here", "", []),
        ("", "query", []),
    ],
)
def test_the_matched_characters_of_the_original_are_marked(
    text: str, query: str, marked: list[str]
) -> None:
    assert [text[start:end] for start, end in match_spans(text, query)] == marked


def test_characters_of_a_longer_run_do_not_light_up_alone() -> None:
    assert match_spans("大家学习，大家开学", "大学") == []


def test_a_character_that_is_a_run_of_its_own_in_the_query_lights_up() -> None:
    assert match_spans("黑猫和白猫", "猫") == [(1, 2), (4, 5)]


def test_overlapping_bigrams_become_one_span() -> None:
    assert match_spans("在搜索引擎里", "搜索引擎") == [(1, 5)]


def test_offsets_are_code_points_of_the_original_after_characters_that_change_length() -> None:
    assert match_spans("㎏… 🐡 \u00adshoes", "shoe") == [(6, 11)]
