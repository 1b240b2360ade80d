"""What is computed quickly is the same to the last bit as what the plain forms here compute."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random

import pytest

from context_search.core.config import Fusion, SearchConfig
from context_search.core.json_pointer import last_keys
from context_search.core.model import HydratedChunk, Reach
from context_search.ranking.fusion import total
from context_search.ranking.rank import candidate_texts, rank
from context_search.ranking.reranking import (
    FULL_LENGTH,
    LENGTH_WEIGHT,
    NEIGHBOUR_WEIGHT,
    PROXIMITY_TOKENS,
    PROXIMITY_WEIGHT,
    SECOND_LOOK,
    TITLE_WEIGHT,
    CandidateText,
    SecondLook,
    close_weights,
    proximity,
    word_weights,
)
from context_search.ranking.search import LegResults, Question, Target
from context_search.text.analysis import Occurrence, query_weights, tokens, with_name
from tests.builders import an_index

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ENGLISH = (
    "harbour harbours ledger abilities ability GPLv3 read_v2.md keeper's of the don't 2.0 URLs"
)
CHINESE = "水位计 闸门 為什麼 打开 不包括 退款 條件 ｶﾞｲﾄﾞ ＡＢＣ 한국어 ไทย 𠮷野家 12月"
ODD = "e\u0301tude ﬁnance İstanbul ﷺ 🦜🦜 ß½ a_b_c ____ \u200d \u3000 नमस्ते \x1c \x85 x́"
KINDS = {"english": ENGLISH, "chinese": CHINESE, "mixed": f"{ENGLISH} {CHINESE}", "odd": ODD}


def written(kind: str, chance: Random, most: int) -> str:
    """Words and signs, with and without spaces between them."""
    words = KINDS[kind].split(" ")
    between = chance.choice(["", " ", "。", "\n", ", "])
    return between.join(chance.choices(words, k=chance.randint(0, most)))


def candidates(
    kind: str, seed: int
) -> tuple[Target, Question, LegResults, dict[str, HydratedChunk]]:
    """A question and what both legs found for it: neighbours, titles, names as keys."""
    chance = Random(f"{kind} {seed}")
    chunks = {}
    for number in range(chance.choice([1, 3, 40])):
        pointer = chance.choice(["/a/body", "/a/title", "/b/0", "/b/1", f"/harbour 闸门/{number}"])
        text = written(kind, chance, chance.choice([2, 10, 80]))
        changed_at = NOW - timedelta(days=chance.choice([0, 3, 400]))
        chunks[f"d{number}"] = HydratedChunk(
            number, chance.choice([1, 2]), pointer, chance.randrange(4), chance.choice([1, 4]),
            text, 0, len(text), "hash", "ns", f"d{number}", changed_at,
        )  # fmt: skip
    query = written(kind, chance, 6)
    legs = [
        {n: chance.choice([0.1, 0.5, chance.random()]) for n in chunks if chance.random() < 0.7}
        for _ in range(2)
    ]
    fusion: Fusion = chance.choice(["convex", "rrf", "linear"])
    question = Question(query, query_weights(query), "hybrid", 50, NOW)
    found = LegResults(vector=legs[0], keyword=legs[1], legs=["vector", "keyword"])
    return (
        Target(an_index(), Reach(), SearchConfig(fusion=fusion), "ready"),
        question,
        found,
        chunks,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_looked_at_as_if_all_their_tokens_were_listed(kind: str) -> None:
    for seed in range(100):
        _, question, _, chunks = candidates(kind, seed)
        found = candidate_texts(question, chunks)
        assert _measured(found) == _measured(plain_texts(question, chunks))


@pytest.mark.parametrize("kind", KINDS)
def test_the_second_look_adds_what_its_plain_form_adds(kind: str) -> None:
    for seed in range(100):
        _, question, found, chunks = candidates(kind, seed)
        texts = plain_texts(question, chunks)
        fused = {"vector": found.vector, "keyword": found.keyword}
        words = with_name(question.words, question.text)
        given = (fused, found.keyword, words, texts)
        assert repr(SecondLook(*given).parts()) == repr(plain_rerank(*given))
        weights = close_weights(words, [text.vocabulary for text in texts.values()])
        for text in texts.values():
            plain = plain_proximity(text.occurrences, weights)
            assert repr(proximity(text.occurrences, weights)) == repr(plain)


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_at_the_second_look_are_the_best_of_all(kind: str) -> None:
    spared = 0
    for seed in range(100):
        _, question, found, chunks = candidates(kind, seed)
        texts = plain_texts(question, chunks)
        words = with_name(question.words, question.text)
        given = ({"keyword": found.keyword}, found.keyword, words, texts)
        every, besides = SecondLook(*given).parts(), set(sorted(found.keyword)[:2])
        some = SecondLook(*given).parts(3, besides)
        right, seen = total(every.values()), total(some.values())
        counted = sorted(right.keys() - besides, key=right.__getitem__, reverse=True)
        for name in {*counted[:3], *besides}:
            assert {part: one[name] for part, one in every.items() if name in one} == {
                part: one[name] for part, one in some.items() if name in one
            }
        assert all(seen[name] <= right[counted[2]] for name in counted[3:])
        spared += sum(seen[name] < right[name] for name in counted)
    assert spared


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_hits_are_those_of_the_whole_ranking(kind: str) -> None:
    for seed in range(100):
        asked = candidates(kind, seed)
        whole = rank(*asked)
        assert whole.ranked == len(whole.hits)
        for most in (0, 1, 5, 100):
            first = rank(*asked, most=most)
            assert (first.ranked, repr(first.hits)) == (whole.ranked, repr(whole.hits[:most]))


def plain_texts(
    question: Question, chunks: Mapping[str, HydratedChunk]
) -> dict[str, CandidateText]:
    """``candidate_texts`` over all tokens of each text."""
    return {name: _plain_text(question, chunk) for name, chunk in chunks.items()}


def _measured(texts: Mapping[str, CandidateText]) -> dict[str, tuple[object, ...]]:
    """What the texts say, with distances from the first occurrence: all that positions say."""
    return {
        name: (
            [(at - text.occurrences[0][0], word) for at, word in text.occurrences],
            [getattr(text, each.name) for each in fields(text) if each.name != "find"],
        )
        for name, text in texts.items()
    }


def _plain_text(question: Question, chunk: HydratedChunk) -> CandidateText:
    words = with_name(question.words, question.text)
    keys = plain_occurrences("\n".join(last_keys(chunk.json_pointer)), words)
    occurrences = plain_occurrences(chunk.chunk_text, words)
    return CandidateText(
        find=lambda: occurrences,
        vocabulary=frozenset([token for _, token in occurrences]),
        length=len(chunk.chunk_text),
        place=(chunk.table_id, chunk.json_pointer),
        index=chunk.chunk_index,
        is_whole=chunk.total_chunks == 1,
        keys=frozenset([key for _, key in keys]),
    )


def plain_occurrences(text: str, words: Collection[str]) -> list[Occurrence]:
    """Tokens, and names: pairs of neighbours that follow each other."""
    listed = tokens(text)
    return [
        (at, word)
        for at, (token, after) in enumerate(pairwise([*listed, ""]))
        for word in (token, _name(token, after))
        if word in words
    ]


def _name(pair: str, after: str) -> str:
    both_are_pairs = len(pair) == len(after) == 2 and not pair.isascii()
    return pair[0] + after if both_are_pairs and pair[1] == after[0] else ""


def plain_rerank(
    fused: Mapping[str, Mapping[str, float]],
    keyword: Mapping[str, float],
    words: Collection[str],
    texts: Mapping[str, CandidateText],
) -> dict[str, dict[str, float]]:
    """``SecondLook`` with everything computed, used or not."""
    whole = 1.0 + PROXIMITY_WEIGHT + NEIGHBOUR_WEIGHT + LENGTH_WEIGHT
    weights = close_weights(words, [text.vocabulary for text in texts.values()])
    of_keys = word_weights(words, [text.vocabulary | text.keys for text in texts.values()])
    beside = {(p.place, p.index): keyword.get(name, 0.0) for name, p in texts.items()}
    titles: dict[tuple[int, str] | None, float] = {None: 0.0}
    for name, score in keyword.items():
        text = texts[name]
        if text.is_title and (owner := text.owner):
            titles[owner] = max(titles.get(owner, 0.0), score)
    parts = {leg: {n: share / whole for n, share in one.items()} for leg, one in fused.items()}
    seen = total(parts.values())
    looks: dict[str, dict[str, float]] = {part: {} for part in SECOND_LOOK}
    for name in seen:
        text = texts[name]
        neighbours = ((text.place, text.index + step) for step in (-1, 1))
        closest = plain_proximity(text.occurrences, weights)
        best_beside = max(beside.get(place, 0.0) for place in neighbours)
        fullness = min(1.0, text.length / FULL_LENGTH)
        looks["proximity"][name] = PROXIMITY_WEIGHT * closest / whole
        looks["neighbour"][name] = NEIGHBOUR_WEIGHT * best_beside / whole
        looks["length"][name] = LENGTH_WEIGHT * fullness / whole
        score = seen[name] + sum(look[name] for part, look in looks.items() if part != "title")
        title = 0.0 if text.is_title else titles.get(text.owner, 0.0)
        named = sum(of_keys[word] for word in text.keys)
        looks["title"][name] = (1.0 - score) * TITLE_WEIGHT * max(title, named)
    return parts | looks


def plain_proximity(occurrences: Sequence[Occurrence], weights: Mapping[str, float]) -> float:
    """``proximity`` with a window that always moves."""
    best = inside = 0.0
    counts = dict.fromkeys(weights, 0)
    first = 0
    for at, token in occurrences:
        is_new = not counts[token]
        if is_new:
            inside += weights[token]
        counts[token] += 1
        while at - occurrences[first][0] > PROXIMITY_TOKENS:
            gone = occurrences[first][1]
            counts[gone] -= 1
            if not counts[gone]:
                inside -= weights[gone]
            first += 1
        if is_new and inside > best:
            best = inside
    return min(1.0, best)
