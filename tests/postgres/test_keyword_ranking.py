"""What a keyword search asks for, and how it counts."""

from __future__ import annotations

import pytest

from context_search.core.ids import scope_key
from context_search.core.model import Reach
from context_search.integrations.ports import Ranked
from context_search.ranking.bm25 import idf, term_weight
from context_search.searching.sql.keywords import (
    CERTAIN_HITS,
    COUNTED_MATCHES,
    MOST_MATCHES,
    MOST_WORDS,
    Candidate,
    Counted,
    Size,
    Term,
    affordable,
    bound,
    is_common,
    lexemes,
    narrowed,
    rescored,
    selective,
    word_query,
)


def term(word: str, matching: int) -> Term:
    return Term(word, word, matching)


def words(terms: list[Term]) -> list[str]:
    return [each.word for each in terms]


def scored(found: list[Candidate], terms: list[Term], size: Size) -> list[Ranked]:
    return rescored(found, terms, {each.word: 1.0 for each in terms}, size)


def test_the_rarest_words_are_asked_for_as_far_as_they_go() -> None:
    terms = [term("common", MOST_MATCHES // 2), term("rare", 3), term("seldom", MOST_MATCHES // 2)]
    assert words(affordable(terms)) == ["rare", "common"]
    assert words(affordable([*terms, term("b", 1), term("a", 1)])) == ["a", "b", "rare", "common"]


def test_a_word_that_everybody_has_is_still_asked_for() -> None:
    assert words(affordable([term("all", 10 * MOST_MATCHES)])) == ["all"]
    assert affordable([]) == []


def test_of_a_long_question_single_characters_are_left_out_first() -> None:
    words = ["图", "书", "图书", "ferri", "图"]
    assert selective(words) == ["图书", "ferri", "图", "书"]
    many = [f"word{number}" for number in range(100)]
    assert selective(["图", *many]) == many[:MOST_WORDS]


def test_of_a_common_word_the_number_is_estimated_from_how_far_counting_came() -> None:
    size = Size(chunks=40 * COUNTED_MATCHES, mean_length=9.0, chunks_per_page=8.0)
    pages = COUNTED_MATCHES // 2  # a quarter of the chunks there has it
    assert Counted(COUNTED_MATCHES, pages).estimated(size) == 10 * COUNTED_MATCHES
    assert Counted(2, pages).estimated(size) == 2


def test_an_estimate_lies_between_what_was_counted_and_all_chunks() -> None:
    size = Size(chunks=2 * COUNTED_MATCHES, mean_length=9.0, chunks_per_page=8.0)
    dense, sparse = (Counted(COUNTED_MATCHES, pages) for pages in (1, 10**9))
    assert dense.estimated(size) == 2 * COUNTED_MATCHES
    assert sparse.estimated(size) == COUNTED_MATCHES


def test_a_sample_says_how_many_have_a_word_if_enough_of_it_have_it() -> None:
    having = {"common": 500, "certain": CERTAIN_HITS, "seldom": CERTAIN_HITS - 1}
    size = Size(200_000, 9.0, sampled=2_000, having=having)
    assert size.estimated("common") == 50_000
    assert size.estimated("certain") == 100 * CERTAIN_HITS
    assert size.estimated("seldom") is size.estimated("unknown") is None


def test_what_can_be_counted_is_not_estimated() -> None:
    size = Size(2 * COUNTED_MATCHES, 9.0, sampled=2_000, having={"half": 1_000, "less": 999})
    assert size.estimated("half") == COUNTED_MATCHES
    assert size.estimated("less") is None


def test_a_pair_of_common_characters_counts_as_the_rarer_of_both_and_goes_before_it() -> None:
    known = {"图": COUNTED_MATCHES, "书": 2 * COUNTED_MATCHES, "馆": 3}
    assert is_common("图书", known)
    assert not is_common("书馆", known)
    assert not is_common("书名", known)
    assert bound("图书", known) == COUNTED_MATCHES
    terms = [term(word, COUNTED_MATCHES) for word in ("图", "图书")]
    assert words(affordable(terms)) == ["图书", "图"]


def test_how_often_a_word_is_there_is_seen_in_the_text() -> None:
    found = [Candidate("a", 0.0, frozenset({"ferri"}), 4, "ferry, ferries: harbour boat")]
    [ranked] = scored(found, [term("ferri", 2), term("boat", 5), term("quay", 1)], Size(9, 4.0))
    expected = idf(2, 9) * term_weight(2, 4, 4.0) + idf(5, 9)
    assert ranked.score == pytest.approx(expected)


def test_a_key_that_is_not_in_the_text_counts_once() -> None:
    found = [Candidate("a", 0.0, frozenset({"heading"}), 4, "ferry")]
    [ranked] = scored(found, [term("heading", 3)], Size(9, 4.0))
    assert ranked.score == pytest.approx(idf(3, 9))


def test_characters_that_are_no_neighbours_are_no_pair() -> None:
    found = [Candidate("a", 9.0, frozenset({"图书"}), 4, "书里有图")]
    assert scored(found, [term("图书", 3)], Size(9, 4.0)) == []


def test_a_pair_is_worth_what_the_texts_show() -> None:
    found = [Candidate(name, 9.0, frozenset({"图书"}), 4, text) for name, text in _PAIRS.items()]
    [ranked] = scored(found, [term("图书", 8)], Size(9, 4.0))
    assert ranked.doc_id == "a"
    assert ranked.score == pytest.approx(idf(1, 9))


_PAIRS = {"a": "图书", "b": "书图"}


def test_a_chunk_is_known_by_its_words_its_pointers_and_its_table() -> None:
    assert lexemes(7, 5, "/a", ["图", "书", "图书", "ferri", "ferri"]) == [
        "7:图",
        "7:书",
        "7:ferri",
        f"7/{scope_key('')}",
        f"7/{scope_key('/a')}",
        "7#5",
    ]


def test_a_pair_asks_for_both_characters() -> None:
    assert word_query(7, "图书") == "'7:图' & '7:书'"


def test_quotes_and_backslashes_stay_inside_of_the_lexeme() -> None:
    assert word_query(7, "a'b\\") == "'7:a''b\\\\'"


def test_a_reach_narrows_what_is_asked_for() -> None:
    query = word_query(7, "ferri")
    assert narrowed(query, 7, Reach()) == "('7:ferri')"
    assert narrowed(query, 7, Reach("/a", (5, 6))) == (
        f"('7:ferri') & '7/{scope_key('/a')}' & ('7#5' | '7#6')"
    )
