"""What becomes a token and what does not, by example."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from context_search.text.analysis import (
    has_searchable_character,
    query_tokens,
    query_weights,
    tokens,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The runner was RUNNING.", ["runner", "run"]),
        ("two shoes, one shoe", ["two", "shoe", "one", "shoe"]),
        ("the user's files", ["user", "file"]),
        ("I don’t know", ["know"]),
        ("word—word (word)", ["word", "word", "word"]),
    ],
)
def test_english_is_folded_stemmed_and_without_stop_words(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("fooBar", ["foobar", "foo", "bar"]),
        ("foo_bar", ["foo_bar", "foo", "bar"]),
        ("__init__", ["init"]),
        ("HTTPServer2", ["httpserver2", "httpserver", "http", "server", "2"]),
        ("userIDs", ["userid", "user", "id"]),
        ("v1.2.3", ["v1.2.3", "v1", "v", "1", "2", "3"]),
        ("SKU-0042", ["sku-0042", "sku", "0042"]),
        ("3.14", ["3.14", "3", "14"]),
        ("std::vector", ["std", "vector"]),
        ("O'Brien", ["o'brien", "o", "brien"]),
        ("AT&T", ["at&t", "t"]),
        ("x/b/c.md", ["x/b/c.md", "x", "b", "c.md", "c", "md"]),
        ("ann.lee@x-y.org", ["ann.lee@x-y.org", "ann.lee", "ann", "lee"]),
        ("x-y.org", ["x-y.org", "x-y", "x", "y", "org"]),
        ("self.foo_bar()", ["self.foo_bar", "self", "foo_bar", "foo", "bar"]),
        ("iPhone15", ["iphone15", "iphon", "phone", "15"]),
    ],
)
def test_identifiers_are_kept_whole_and_in_parts(identifier: str, expected: list[str]) -> None:
    assert tokens(identifier)[: len(expected)] == expected


def test_a_hash_is_one_token_because_its_parts_are_no_words() -> None:
    assert tokens("3f6dbf76ac43cfe21a2b3c4d5e6f7a8b") == ["3f6dbf76ac43cfe21a2b3c4d5e6f7a8b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("搜索引擎", ["搜", "索", "引", "擎", "搜索", "索引", "引擎"]),
        ("猫", ["猫"]),
        ("你好，世界", ["你", "好", "你好", "世", "界", "世界"]),
        ("買Nokia手機", ["买", "nokia", "手", "机", "手机"]),
        ("2020年", ["2020", "年"]),
        ("テスト", ["テ", "ス", "ト", "テス", "スト"]),
        ("한국 말", ["한", "국", "한국", "말"]),
        ("ไทย", ["ไ", "ท", "ย", "ไท", "ทย"]),
    ],
)
def test_unspaced_scripts_give_characters_and_bigrams(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Привет Ёлка йод", ["привет", "елка", "йод"]),
        ("naïve CAFÉ Łódź", ["naiv", "cafe", "lodz"]),
        ("Straße", ["strass"]),
        ("Ἀθῆναι", ["αθηναι"]),
        ("مُحَمَّد", ["محمد"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    ],
)
def test_spaced_scripts_give_folded_words(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("text", "same"),
    [
        *(("ＨＴＴＰ２０２０", "HTTP2020"), ("ﬁne", "fine"), ("ｶﾞｽ", "ガス"), ("١٢٣", "123")),
        *(("co\u00adop", "coop"), ("e‐mail", "e-mail"), ("m³", "m3"), ("臺灣", "台湾")),
    ],
)
def test_two_spellings_of_the_same_have_the_same_tokens(text: str, same: str) -> None:
    assert tokens(text) == tokens(same)


def test_query_tokens_are_distinct_and_in_order() -> None:
    assert query_tokens("shoes and a shoe, 鞋 鞋") == ["shoe", "鞋"]


@pytest.mark.parametrize(
    ("question", "weights"),
    [
        ("release 2.0", {"releas": 1, "2.0": 1 / 2, "2": 1 / 4, "0": 1 / 4}),
        ("X200", {"x200": 1 / 2, "x": 1 / 4, "200": 1 / 4}),
        ("2017oppo", {"2017oppo": 1 / 2, "2017": 1 / 2, "oppo": 1}),
        (
            "Apache-2.0",
            {"apache-2.0": 1 / 2, "apache-2": 1 / 6, "apach": 1, "2": 1 / 6, "0": 1 / 6},
        ),
        ("2.0 and 2", {"2.0": 1 / 2, "2": 1, "0": 1 / 4}),
        ("open_file", {"open_file": 1, "open": 1, "file": 1}),
        ("2020年", {"2020": 1, "年": 1}),
    ],
)
def test_the_parts_of_a_version_or_model_share_what_one_word_counts(
    question: str, weights: dict[str, float]
) -> None:
    assert query_weights(question) == pytest.approx(weights)
    assert query_tokens(question) == list(query_weights(question))


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        *(
            ("闸门什么时候打开？", "闸门 打开"),
            ("閘門什麼時候打開？", "闸门 打开"),
            ("怎么重置密码", "重置密码"),
        ),
        *(
            ("請問誰寫了這本書呢？", "写了这本书"),
            ("价格是多少", "价格是"),
            ("哪些树开花", "树开花"),
        ),
    ],
)
def test_what_makes_a_chinese_sentence_a_question_is_not_searched_for(
    question: str, topic: str
) -> None:
    assert query_tokens(question) == list(dict.fromkeys(tokens(topic)))


@pytest.mark.parametrize("query", ["哪吒", "吗啡的用途", "几何", "为什么", "什么 the", "呢绒"])
def test_names_and_a_question_without_a_topic_are_searched_for_whole(query: str) -> None:
    assert query_tokens(query) == list(dict.fromkeys(tokens(query)))


def test_a_query_of_stop_words_has_no_tokens_but_is_searchable() -> None:
    assert query_tokens("to be or not to be") == []
    assert has_searchable_character("to be or not to be")


@pytest.mark.parametrize("text", ["", " \n", "!?…。，", "—_—", "🐡", "\u0301"])
def test_text_without_letter_or_number_is_not_searchable(text: str) -> None:
    assert not has_searchable_character(text)
    assert tokens(text) == []


@pytest.mark.parametrize("text", ["a", "0", "猫", "и", "½", "№"])
def test_one_letter_or_number_is_searchable(text: str) -> None:
    assert has_searchable_character(text)


@pytest.mark.parametrize("text", ["x" * 1_000, "ß" * 1_000, "ж" * 1_000, "न" * 1_000, "x_" * 1_000])
def test_long_tokens_are_cut_to_the_limits_of_the_store(text: str) -> None:
    found = tokens(text)
    assert found
    assert all(0 < len(token) <= 128 and len(token.encode()) <= 254 for token in found)


def test_threads_get_the_same_tokens() -> None:
    texts = [f"running words{i} and generously numbered{i} identifiers" for i in range(200)]
    expected = [tokens(text) for text in texts]
    with ThreadPoolExecutor(max_workers=8) as pool:
        assert list(pool.map(tokens, texts * 5)) == expected * 5
