"""Plain BM25 beside our search."""

from __future__ import annotations

from context_search.ranking.measures import TextRange
from evaluation.baseline import PlainBm25

RED, BLUE = TextRange("/a", 0, 8), TextRange("/b", 0, 10)


def test_the_chunks_with_a_word_of_the_question_are_found() -> None:
    plain = PlainBm25({RED: "red door", BLUE: "blue hinge"})
    assert plain.ask("which hinge?") == [BLUE]


def test_nothing_is_found_where_there_is_no_word() -> None:
    assert PlainBm25({RED: "red door"}).ask("???") == []
    assert PlainBm25({RED: "... !!!"}).ask("door") == []
    assert PlainBm25({}).ask("door") == []
