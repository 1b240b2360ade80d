"""What moves a candidate up at the second look."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from context_search.ranking.fusion import total
from context_search.ranking.reranking import CandidateText, SecondLook, proximity, word_weights

LONG = 1_000


def passage(
    text: str, *, index: int = 0, pointer: str = "/body", length: int = LONG, table_id: int = 1
) -> CandidateText:
    words = text.split()
    return _passage(words, length, (table_id, pointer), index)


def _passage(
    words: list[str], length: int, place: tuple[int, str] = (1, ""), index: int = 0
) -> CandidateText:
    is_whole = length < LONG
    found = list(enumerate(words))
    return CandidateText(lambda: found, frozenset(words), length, place, index, is_whole)


def _asked(passage: CandidateText, words: Collection[str]) -> CandidateText:
    """What a term finder for these words finds in a passage."""
    seen = [occurrence for occurrence in passage.occurrences if occurrence[1] in words]
    return replace(passage, find=lambda: seen, vocabulary=passage.vocabulary.intersection(words))


def reranked(
    fused: dict[str, float],
    keyword: dict[str, float],
    words: Collection[str],
    texts: dict[str, CandidateText],
) -> dict[str, float]:
    """The scores after the second look."""
    return total(SecondLook({"fused": fused}, keyword, words, texts).parts().values())


def best(
    passages: dict[str, CandidateText], words: str, keyword: dict[str, float] | None = None
) -> str:
    """The first of candidates that the legs ranked equal."""
    fused = dict.fromkeys(passages, 0.5)
    asked = words.split()
    seen = {name: _asked(passage, asked) for name, passage in passages.items()}
    scores = reranked(fused, keyword or {}, asked, seen)
    return max(scores, key=lambda name: scores[name])


def test_words_close_together_beat_words_far_apart() -> None:
    filler = " x" * 100
    passages = {"far": passage("red" + filler + " door"), "near": passage(filler + " red door")}
    assert best(passages, "red door") == "near"


def test_a_rare_word_beats_a_frequent_one() -> None:
    passages = {"a": passage("door door"), "b": passage("hinge"), "c": passage("door")}
    assert best(passages, "door hinge") == "b"


def test_a_neighbour_that_matches_well_lifts_a_passage() -> None:
    passages = {
        "hit": passage("x", index=4),
        "next": passage("x", index=5),
        "elsewhere": passage("x", index=5, pointer="/other"),
        "of another table": passage("x", index=5, table_id=2),
        "two on": passage("x", index=6),
    }
    assert best(passages, "door", {"hit": 1.0}) == "next"


def test_a_title_that_only_repeats_the_question_is_behind_a_text_that_answers() -> None:
    passages = {"title": passage("red door", length=8), "text": passage("red door is open")}
    assert best(passages, "red door") == "text"


def test_a_title_that_matches_lifts_the_texts_of_its_object() -> None:
    passages = {
        "title": passage("red door", length=8, pointer="/rows/4/title"),
        "text": passage("hinge", pointer="/rows/4/text"),
        "its end": replace(passage("hinge", length=8, pointer="/rows/4/text"), is_whole=False),
        "row": passage("hinge", pointer="/rows/5/text"),
        "of another table": passage("hinge", pointer="/rows/4/text", table_id=2),
        "author": passage("hinge", length=8, pointer="/rows/4/author"),
    }
    fused, words = dict.fromkeys(passages, 0.5), ["red", "door", "hinge"]
    scores = reranked(fused, {"title": 1.0}, words, passages)
    without = reranked(fused, {}, words, passages)
    assert {name for name in scores if scores[name] > without[name]} == {"text", "its end"}


def test_a_text_whose_keys_name_what_is_asked_for_is_lifted() -> None:
    words = ["warranti", "apach", "2.0"]
    said = [word for word in words if word == "warranti"]

    def passage(key: str, keys: set[str]) -> CandidateText:
        occurrences = list(enumerate(said))
        return CandidateText(
            lambda: occurrences, frozenset(said), 900, (1, f"/{key}"), 3, False, frozenset(keys)
        )

    passages = {"apache": passage("Apache-2.0", {"apach", "2.0"}), "mit": passage("MIT", set())}
    scores = reranked(dict.fromkeys(passages, 0.5), {}, words, passages)
    assert scores["apache"] > scores["mit"]
    nameless = {name: replace(each, keys=frozenset()) for name, each in passages.items()}
    assert scores["mit"] == reranked(dict.fromkeys(passages, 0.5), {}, words, nameless)["mit"]


def test_a_key_that_all_have_lifts_all_alike() -> None:
    passages = {
        name: CandidateText(
            lambda: [(0, "door")], frozenset({"door"}), 900, (1, f"/{name}/text"), 0, False, keys
        )
        for name in ("a", "b")
        for keys in [frozenset({"text"})]
    }
    scores = reranked({"a": 0.6, "b": 0.5}, {}, ["door", "text"], passages)
    assert scores["a"] > scores["b"]


def test_short_strings_of_an_array_are_no_titles_of_each_other() -> None:
    passages = {
        "short": passage("red door", length=8, pointer="/lines/0"),
        "long": passage("hinge", pointer="/lines/1"),
        "elsewhere": passage("hinge", pointer="/notes"),
    }
    words = ["red", "door", "hinge"]
    scores = reranked(dict.fromkeys(passages, 0.5), {"short": 1.0}, words, passages)
    assert scores["long"] == scores["elsewhere"]


def test_without_words_in_common_the_legs_decide() -> None:
    passages = {"a": _asked(passage("x"), ["door"]), "b": _asked(passage("y"), ["door"])}
    scores = reranked({"a": 0.2, "b": 0.9}, {}, ["door"], passages)
    assert scores["b"] > scores["a"]


def test_no_candidates_are_ranked_as_none() -> None:
    assert reranked({}, {}, ["door"], {}) == {}


TOKENS = st.lists(st.sampled_from("abcxyz"), max_size=120)


@given(st.dictionaries(st.sampled_from("pqrst"), st.tuples(TOKENS, st.floats(0, 1))), TOKENS)
def test_scores_stay_between_0_and_1(
    found: dict[str, tuple[list[str], float]], question: list[str]
) -> None:
    passages = {
        name: _asked(_passage(text, 10 * len(text)), question) for name, (text, _) in found.items()
    }
    fused = {name: score for name, (_, score) in found.items()}
    words = list(dict.fromkeys(question))
    assert all(0 <= score <= 1 for score in reranked(fused, fused, words, passages).values())


@given(TOKENS, TOKENS.map(lambda words: list(dict.fromkeys(words))))
def test_proximity_is_that_of_the_best_stretch(text: list[str], words: list[str]) -> None:
    weights = word_weights(words, [frozenset(text)])
    stretches = [set(text[first : first + 41]) for first in range(len(text))]
    slow = max((sum(weights.get(word, 0.0) for word in s) for s in stretches), default=0.0)
    occurrences = [(at, word) for at, word in enumerate(text) if word in words]
    assert abs(proximity(occurrences, weights) - slow) < 1e-9
