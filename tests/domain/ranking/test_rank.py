"""Ranking of many candidates: which texts are looked at, and what that may change."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from context_search.domain.config import SearchConfig
from context_search.domain.model import HydratedChunk, Reach
from context_search.domain.ranking.rank import LOOKED_AT, rank, relevance_of
from context_search.domain.ranking.relevance import calibration_of
from context_search.domain.search import Found, Hit, Question, Target
from context_search.domain.text.analysis import query_weights
from tests.builders import an_index

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = {"harbour": 1.0}


def ranked(count: int, search: SearchConfig) -> list[Hit]:
    """Hits with the same text, the first with the best cosine."""
    vector = {f"d{number:04}": 0.5 - number / 10_000 for number in range(count)}
    target = Target(an_index(), Reach(), search, "ready")
    question = Question("harbour", WORDS, "hybrid", count, NOW)
    chunks = {name: chunk(name) for name in vector}
    return rank(target, question, Found(vector=vector, keyword=vector), chunks).hits


def chunk(name: str) -> HydratedChunk:
    return HydratedChunk(
        int(name[1:]), 1, f"/{name}", 0, 1, "the old harbour", 0, 15, "hash", "ns", name, NOW
    )


def test_a_linear_ranking_looks_at_the_first_texts_only() -> None:
    hits = ranked(LOOKED_AT + 5, SearchConfig(fusion="linear"))
    seen = [bool(hit.evidence and hit.evidence.matched) for hit in hits]
    assert seen == [True] * LOOKED_AT + [False] * 5
    assert [hit.chunk.id for hit in hits] == list(range(LOOKED_AT + 5))


def test_other_rankings_look_at_every_text() -> None:
    hits = ranked(LOOKED_AT + 5, SearchConfig())
    assert all(hit.evidence and hit.evidence.matched for hit in hits)


def test_the_relevance_of_a_text_is_that_of_its_hit() -> None:
    for hit in ranked(3, SearchConfig(fusion="linear")):
        assert hit.evidence is not None
        cosine = hit.evidence.raw_semantic
        calibration = calibration_of(an_index(), {"a": 0.5, "b": 0.4, "c": 0.3})
        alone = relevance_of(calibration, WORDS, cosine, hit.chunk.chunk_text)
        assert alone == pytest.approx(hit.relevance)


def lift(words: list[str]) -> float:
    """How much higher a text stands beside a title than beside a text, for one question."""
    long = "the old harbour " * 40
    texts = {"/a/title": "harbour", "/a/body": long, "/b/body": long}
    chunks = {
        pointer: HydratedChunk(
            number, 1, pointer, 0, 1, text, 0, len(text), "hash", "ns", pointer, NOW
        )
        for number, (pointer, text) in enumerate(texts.items())
    }
    target = Target(an_index(), Reach(), SearchConfig(), "ready")
    question = Question(" ".join(words), dict.fromkeys(words, 1.0), "hybrid", 3, NOW)
    keyword = {"/a/title": 3.0, "/a/body": 1.0, "/b/body": 1.0}
    found = Found(vector=dict.fromkeys(texts, 0.4), keyword=keyword)
    hits = rank(target, question, found, chunks).hits
    scores = {hit.json_path: hit.score for hit in hits}
    return scores["/a/body"] - scores["/b/body"]


def test_a_title_lifts_its_text_as_far_as_keywords_are_trusted() -> None:
    assert lift(["harbour"]) > lift(["harbour", "closes", "winter", "storm", "season"]) > 0


@pytest.mark.parametrize("strategy", ["hybrid", "semantic"])
@pytest.mark.parametrize("fusion", ["convex", "rrf"])
@pytest.mark.parametrize("words", [{}, {"xxxxxxxx": 1.0}])
def test_a_text_of_emoji_only_is_no_answer_to_a_question_without_a_word_that_anybody_has(
    strategy: str, fusion: str, words: dict[str, float]
) -> None:
    texts = {"d1": "🦜🎺🦜", "d2": "the old harbour"}
    search = SearchConfig(strategy=strategy, fusion=fusion)  # type: ignore[arg-type]
    question = Question("the", words, "hybrid", 3, NOW)
    chunks = {name: replace(chunk(name), chunk_text=text) for name, text in texts.items()}
    found = Found(vector={"d1": 0.5, "d2": 0.45, "d3": 0.1})
    chunks["d3"] = replace(chunk("d3"), chunk_text="a quay")
    hits = rank(Target(an_index(), Reach(), search, "ready"), question, found, chunks).hits
    assert [hit.chunk.turbopuffer_doc_id for hit in hits] == ["d2", "d1", "d3"]
    assert hits[1].relevance < 0.2


def test_the_keys_of_a_text_are_searched_as_titles_are() -> None:
    pointers = ("/licences/Apache-2.0", "/licences/MIT")
    chunks = {
        pointer: replace(chunk(f"d{number}"), json_pointer=pointer)
        for number, pointer in enumerate(pointers)
    }
    question = "harbour under Apache 2.0"
    asked = Question(question, query_weights(question), "hybrid", 3, NOW)
    alike = dict.fromkeys(pointers, 0.4)
    target = Target(an_index(), Reach(), SearchConfig(), "ready")
    best, other = rank(target, asked, Found(vector=alike, keyword=alike), chunks).hits
    assert (best.json_path, best.score > other.score) == ("/licences/Apache-2.0", True)
    assert best.relevance == other.relevance
