"""Which hits are near-duplicates of one before, and what is told of them."""

from __future__ import annotations

import doctest
from collections.abc import Sequence
from cProfile import Profile
from datetime import UTC, datetime
from random import Random

import pytest

from context_search.core.model import HydratedChunk
from context_search.ranking import duplicates
from context_search.ranking.duplicates import ALIKE, collapsed, shingles
from context_search.ranking.search import MAX_PLACES, Evidence, Hit
from tests.builders import chinese, english

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def hit(number: int, text: str, *matched: str) -> Hit:
    """The hit at a place of a ranking, with these words of the question."""
    place = f"/{number}"
    chunk = HydratedChunk(number, 1, place, 0, 1, text, 0, len(text), "h", "ns", place, NOW)
    why = Evidence(1, 1, 0.5, 1.0, 0.5, 1.0, 1.0, matched)
    return Hit(1.0 / (number + 1), 0.5, place, chunk, why)


def shown(hits: Sequence[Hit], limit: int | None = None) -> dict[int, list[int]]:
    """The numbers of what is shown, with those of their duplicates."""
    return {each.chunk.id: [copy.id for copy in each.duplicates] for each in collapsed(hits, limit)}


def test_the_examples_of_the_documentation_hold() -> None:
    assert doctest.testmod(duplicates) == (0, 1)


@pytest.mark.parametrize("write", [english, chinese])
def test_a_text_that_comes_again_is_shown_once_and_the_next_hits_move_up(write: object) -> None:
    a, b, c = (write(600, seed) for seed in (1, 2, 3))  # type: ignore[operator]
    hits = [hit(n, text) for n, text in enumerate([a, a, b, a, c, b])]
    assert shown(hits) == {0: [1, 3], 2: [5], 4: []}
    assert shown(hits, 2) == {0: [1, 3], 2: [5]}
    assert shown(hits, 3) == {0: [1, 3], 2: [5], 4: []}
    assert [each.score for each in collapsed(hits)] == [hits[n].score for n in (0, 2, 4)]


@pytest.mark.parametrize(("write", "gap"), [(english, " "), (chinese, "")])
def test_a_few_other_words_make_no_other_text_and_many_do(write: object, gap: str) -> None:
    text = write(800, 5)  # type: ignore[operator]
    half = text[:400] + write(400, 6)  # type: ignore[operator]
    filed = f"{text[:300]}{gap}港{gap}{text[300:]}"
    assert shown([hit(0, text), hit(1, filed), hit(2, half)]) == {0: [1], 2: []}


def test_a_duplicate_that_has_more_of_the_question_is_shown() -> None:
    text = english(800)
    hits = [
        hit(0, f"{text} 2019", "revenue", "2019"),
        hit(1, f"{text} 2020", "revenue", "2020"),
        hit(2, f"{text} 2021", "revenue"),
    ]
    assert shown(hits) == {0: [2], 1: []}


def test_places_are_bounded_and_all_duplicates_counted() -> None:
    [best] = collapsed([hit(n, "the same few words") for n in range(MAX_PLACES + 8)])
    assert [copy.id for copy in best.duplicates] == list(range(1, MAX_PLACES + 1))
    assert best.duplicates_total == MAX_PLACES + 7


def test_hits_without_a_text_are_no_duplicates() -> None:
    assert shown([hit(n, text) for n, text in enumerate(["", "", "?!", "?!"])]) == {
        n: [] for n in range(4)
    }


def calls(count: int) -> int:
    """How many functions are called for so many hits, few of which have a text."""
    hits = [hit(n, english(200, n) if n < 10 else "") for n in range(count)]
    with Profile() as profile:
        assert len(collapsed(hits)) == count
    return sum(each.callcount for each in profile.getstats())


def test_thousands_of_hits_without_a_text_cost_no_comparison() -> None:
    assert calls(2_000) < 3 * calls(1_000)


def test_few_marks_miss_no_duplicate() -> None:
    random, words = Random(3), english(4_000).split()
    texts = [" ".join(words[:120])]
    for _ in range(150):
        mutated = random.choice(texts).split()
        for _ in range(random.choice([0, 1, 4, 9, 40])):
            mutated[random.randrange(len(mutated))] = random.choice(words)
        texts.append(" ".join(mutated))
    kept: list[frozenset[str]] = []
    expected = []
    for number, text in enumerate(texts):
        found = shingles(text)
        if not any(len(found & one) >= ALIKE * len(found | one) for one in kept):
            kept.append(found)
            expected.append(number)
    assert list(shown([hit(n, text) for n, text in enumerate(texts)])) == expected
    assert 10 < len(expected) < 140
