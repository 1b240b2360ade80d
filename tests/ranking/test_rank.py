"""Ranking of many candidates: which texts are looked at, and what that may change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from context_search.core.config import SearchConfig
from context_search.core.model import HydratedChunk, Reach
from context_search.ranking.rank import LOOKED_AT, Ranking, rank, relevance_of
from context_search.ranking.relevance import calibration_of
from context_search.ranking.reranking import SECOND_LOOK
from context_search.ranking.search import LegResults, Question, Target
from context_search.text.analysis import query_weights, with_name
from tests.builders import an_index

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = {"harbour": 1.0}


def ranked(count: int, search: SearchConfig, most: int | None = None) -> Ranking:
    """Hits with the same text, the first with the best cosine."""
    vector = {f"d{number:04}": 0.5 - number / 10_000 for number in range(count)}
    target = Target(an_index(), Reach(), search, "ready")
    question = Question("harbour", WORDS, "hybrid", count, NOW)
    chunks = {name: chunk(name) for name in vector}
    return rank(target, question, LegResults(vector=vector, keyword=vector), chunks, most=most)


def chunk(name: str) -> HydratedChunk:
    return HydratedChunk(
        int(name[1:]), 1, f"/{name}", 0, 1, "the old harbour", 0, 15, "hash", "ns", name, NOW
    )


def test_a_linear_ranking_looks_at_the_first_texts_only() -> None:
    ranking = ranked(LOOKED_AT + 5, SearchConfig(fusion="linear"))
    assert [hit.chunk.id for hit in ranking.hits] == list(range(LOOKED_AT))
    assert all(hit.evidence and hit.evidence.matched for hit in ranking.hits)
    assert ranking.ranked == LOOKED_AT + 5


def test_what_is_further_has_the_numbers_that_a_hit_would_have() -> None:
    further = ranked(LOOKED_AT + 5, SearchConfig(fusion="linear")).further
    hits = ranked(LOOKED_AT + 5, SearchConfig(fusion="linear"), most=LOOKED_AT + 5).hits[LOOKED_AT:]
    assert [hit.chunk.turbopuffer_doc_id for hit in hits] == [row.doc_id for row in further]
    for hit, row in zip(hits, further, strict=True):
        why = hit.evidence
        assert why is not None
        numbers = (hit.score, why.raw_semantic, why.bm25, why.semantic, why.recency)
        assert repr(numbers) == repr(tuple(row)[1:])


def test_other_rankings_look_at_every_text() -> None:
    hits = ranked(LOOKED_AT + 5, SearchConfig()).hits
    assert all(hit.evidence and hit.evidence.matched for hit in hits)


def test_the_relevance_of_a_text_is_that_of_its_hit() -> None:
    for hit in ranked(3, SearchConfig(fusion="linear")).hits:
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
    found = LegResults(vector=dict.fromkeys(texts, 0.4), keyword=keyword)
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
    chunks = {name: chunk(name)._replace(chunk_text=text) for name, text in texts.items()}
    found = LegResults(vector={"d1": 0.5, "d2": 0.45, "d3": 0.1})
    chunks["d3"] = chunk("d3")._replace(chunk_text="a quay")
    hits = rank(Target(an_index(), Reach(), search, "ready"), question, found, chunks).hits
    assert [hit.chunk.turbopuffer_doc_id for hit in hits] == ["d2", "d1", "d3"]
    assert hits[1].relevance < 0.2


TWINS = [
    (1, "/rows/2/text", 0),
    (1, "/rows/2/text", 2),
    (1, "/rows/2/text", 10),
    (1, "/rows/10/text", 0),
    (1, "/titles/zz", 0),
    (1, "/titles/é", 0),
    (1, "/titles/abc", 0),
    (12, "/rows/1/text", 0),
]
"""Places in the order of their documents; é has as many bytes as zz."""


@pytest.mark.parametrize("fusion", ["convex", "rrf", "linear"])
@pytest.mark.parametrize("strategy", ["hybrid", "keyword", "semantic"])
@pytest.mark.parametrize("candidates", [50, 5])
def test_equal_texts_are_in_the_order_of_their_documents(
    fusion: str, strategy: str, candidates: int
) -> None:
    places = list(enumerate(TWINS))
    Random(7).shuffle(places)
    chunks = {
        f"d{number}": chunk(f"d{9 - number}")._replace(
            table_id=table, json_pointer=pointer, chunk_index=index
        )
        for number, (table, pointer, index) in places
    }
    alike = dict.fromkeys(chunks, 0.5)
    found = LegResults(
        vector={} if strategy == "keyword" else alike,
        keyword={} if strategy == "semantic" else alike,
    )
    search = SearchConfig(fusion=fusion, strategy=strategy)  # type: ignore[arg-type]
    question = Question("harbour", WORDS, "hybrid", candidates, NOW)
    hits = rank(Target(an_index(), Reach(), search, "ready"), question, found, chunks).hits
    order = [(hit.chunk.table_id, hit.chunk.json_pointer, hit.chunk.chunk_index) for hit in hits]
    assert order == TWINS[:candidates]


def test_of_equal_texts_the_newer_is_first() -> None:
    chunks = {name: chunk(name) for name in ("d1", "d2")}
    chunks["d2"] = chunks["d2"]._replace(changed_at=NOW + timedelta(days=-1))
    chunks["d1"] = chunks["d1"]._replace(changed_at=NOW + timedelta(days=-2))
    alike = dict.fromkeys(chunks, 0.5)
    question = Question("harbour", WORDS, "hybrid", 9, NOW)
    target = Target(an_index(), Reach(), SearchConfig(), "ready")
    hits = rank(target, question, LegResults(vector=alike, keyword=alike), chunks).hits
    assert [hit.chunk.id for hit in hits] == [2, 1]


def test_the_keys_of_a_text_are_searched_as_titles_are() -> None:
    pointers = ("/licences/Apache-2.0", "/licences/MIT")
    chunks = {
        pointer: chunk(f"d{number}")._replace(json_pointer=pointer)
        for number, pointer in enumerate(pointers)
    }
    question = "harbour under Apache 2.0"
    asked = Question(question, query_weights(question), "hybrid", 3, NOW)
    alike = dict.fromkeys(pointers, 0.4)
    target = Target(an_index(), Reach(), SearchConfig(), "ready")
    best, other = rank(target, asked, LegResults(vector=alike, keyword=alike), chunks).hits
    assert (best.json_path, best.score > other.score) == ("/licences/Apache-2.0", True)
    assert best.relevance == other.relevance


PHRASES = [
    "the old harbour is closed in winter",
    "a title",
    "the lighthouse keeper counts comets every night of the season, and writes them down. " * 5,
    "港口在冬天关闭",
    "灯塔看守人每天晚上数彗星，并且记下来。" * 12,
    "🦜🎺",
]


def anything(random: Random, strategy: str) -> tuple[LegResults, dict[str, HydratedChunk]]:
    """Candidates as they may come, some of them not live."""
    names = [f"d{number}" for number in range(random.randrange(1, 30))]
    chunks = {
        name: chunk(name)._replace(
            json_pointer=f"/{random.randrange(4)}/{random.choice(['title', 'body', 'harbour'])}",
            chunk_index=(index := random.randrange(3)),
            total_chunks=random.randrange(index + 1, 4),
            chunk_text=random.choice(PHRASES),
            changed_at=NOW - timedelta(days=random.randrange(90)),
        )
        for name in names
    }
    vector = {name: random.uniform(-0.2, 1) for name in names if random.random() < 0.7}
    keyword = {name: random.choice([2.0, 7.0, 9.5]) for name in names if random.random() < 0.7}
    found = LegResults(
        vector={} if strategy == "keyword" else vector,
        keyword={} if strategy == "semantic" else keyword,
        legs=("vector", "keyword"),
    )
    return found, {name: chunks[name] for name in found.ids if random.random() < 0.9}


@pytest.mark.parametrize("fusion", ["convex", "rrf", "linear"])
@pytest.mark.parametrize("strategy", ["hybrid", "keyword", "semantic"])
@pytest.mark.parametrize("text", ["when is the harbour closed, keeper?", "港口冬天", "the"])
def test_the_parts_of_a_score_make_the_score(text: str, strategy: str, fusion: str) -> None:
    random = Random(f"{text}{strategy}{fusion}")
    search = SearchConfig(fusion=fusion)  # type: ignore[arg-type]
    question = Question(text, query_weights(text), "hybrid", 50, NOW)
    seen: set[str] = set()
    for _ in range(60):
        found, chunks = anything(random, strategy)
        hits = rank(Target(an_index(), Reach(), search, "ready"), question, found, chunks).hits
        for hit in hits:
            assert hit.evidence is not None
            parts, fused = hit.evidence.parts, hit.evidence.fused
            assert sum(parts.values()) == pytest.approx(hit.score, abs=1e-12)
            legs = sum(parts.get(leg, 0.0) for leg in ("vector", "keyword", "recency"))
            has_look = fusion == "convex" or (fusion == "rrf" and not found.vector)
            whole = 1.9 if has_look and set(found.keyword) & set(chunks) else 1.0
            assert legs * whole == pytest.approx(fused, abs=1e-12)
            seen |= parts.keys()
    if (fusion, strategy, text != "the") == ("convex", "hybrid", True):
        assert seen == {"vector", "keyword", *SECOND_LOOK, "language", "worth"}


def test_a_name_of_three_characters_is_one_word() -> None:
    """Persons called 林小 and 小雨 have all characters and pairs of 林小雨 between them."""
    together = "林小 waited at the gate, and 小雨 came. " * 20
    texts = {
        "both": together,
        "named": f"A letter of 林小雨. {'The harbour was calm. ' * 20}",
        "one": f"小雨 alone. {'The harbour was calm. ' * 20}",
    }
    chunks = {
        name: chunk("d0000")._replace(chunk_text=text, json_pointer=f"/{name}")
        for name, text in texts.items()
    }
    query = "「林小雨」"
    question = Question(query, query_weights(query), "keyword", 50, NOW)
    found = LegResults(keyword={"both": 9.0, "named": 7.0, "one": 4.0}, legs=["keyword"])
    target = Target(an_index(), Reach(), SearchConfig(strategy="keyword"), "ready")
    named, both, _ = rank(target, question, found, chunks).hits
    assert named.chunk.json_pointer == "/named"
    assert named.evidence is not None
    assert "林小雨" in named.evidence.matched
    assert named.relevance > 0.9
    assert both.relevance < 0.25


@pytest.mark.parametrize("query", ["林远", "数据迁移", "林小雨在哪里", "カタカナ", "GPL", "the"])
def test_what_is_no_name_of_three_characters_has_the_words_of_the_index(query: str) -> None:
    assert with_name(query_weights(query), query) == query_weights(query)
