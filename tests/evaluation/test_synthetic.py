"""A model of a given strength: what it knows, and that the rest is the model below it."""

from __future__ import annotations

import numpy as np
import pytest

from context_search.ranking.measures import TextRange
from evaluation.judged import JudgedSet, Question
from evaluation.synthetic import STRENGTHS, Corpus, Located, Synthetic
from testing.in_memory.embedder import WordEmbedder

TEXTS = [
    " ".join(f"{word}{number}" for number in range(120)) for word in ("oak", "elm", "fir", "yew")
]
DOCUMENT = {"d": {"texts": TEXTS}}
QUESTION = Question("Which tree is it?", (TextRange("/d/texts/2", 100, 160),))
SET = JudgedSet("trees", "en", DOCUMENT, (QUESTION,))
PIECE = TEXTS[2][50:250]
OTHERS = [TEXTS[0][50:250], TEXTS[1][50:250], TEXTS[3][50:250], TEXTS[2][500:700]]
NAMES = sorted(STRENGTHS, key=STRENGTHS.__getitem__)


def similarities(name: str, question: str, passages: list[str]) -> list[float]:
    model = Synthetic(WordEmbedder(), [SET], name)
    vectors = np.array(model.embed_passages(passages, timeout_s=1))
    found: list[float] = (vectors @ np.array(model.embed_query(question, timeout_s=1))).tolist()
    return found


def test_the_stronger_the_model_the_more_an_answer_stands_out() -> None:
    leads = []
    for name in NAMES:
        answer, *others = similarities(name, QUESTION.text, [PIECE, *OTHERS])
        leads.append(answer - max(others))
    assert leads == sorted(leads)
    assert leads[-1] > 0


@pytest.mark.parametrize("name", NAMES)
def test_all_vectors_have_the_length_of_one_and_are_the_same_each_time(name: str) -> None:
    one, other = (Synthetic(WordEmbedder(), [SET], name) for _ in range(2))
    vectors = one.embed_passages([PIECE, "about nothing here"], timeout_s=1)
    vectors.append(one.embed_query(QUESTION.text, timeout_s=1))
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)
    assert {len(vector) for vector in vectors} == {one.dimensions}
    assert other.embed_query(QUESTION.text, timeout_s=1) == vectors[-1]


def test_a_question_about_nothing_here_has_the_order_of_the_model_below() -> None:
    question = "oak3 and elm7, and whatever else there is"
    base = WordEmbedder()
    own = np.array(base.embed_passages(OTHERS, timeout_s=1))
    below = own @ np.array(base.embed_query(question, timeout_s=1))
    assert np.argsort(similarities(NAMES[-1], question, OTHERS)).tolist() == (
        np.argsort(below).tolist()
    )


def test_a_sentence_of_the_corpus_asks_for_the_text_around_it() -> None:
    sentence = TEXTS[1][300:360]
    rest = f"{TEXTS[1][100:300]} {TEXTS[1][360:500]}"
    answer, *others = similarities(NAMES[-1], sentence, [rest, TEXTS[0], TEXTS[3], TEXTS[2]])
    assert answer > max(others)


def test_a_text_is_found_where_it_stands_even_with_a_piece_taken_out() -> None:
    corpus = Corpus([SET])
    whole = Located("trees", TextRange("/d/texts/1", 100, 498))
    assert corpus.find(TEXTS[1][100:498]) == [whole]
    assert corpus.find(TEXTS[1][100:300] + TEXTS[1][360:498]) == [whole]
    assert corpus.find("about nothing here") == []


@pytest.mark.parametrize(("kept", "span"), [((100, 290), (100, 300)), ((110, 300), (100, 300))])
def test_one_end_of_a_text_is_enough_to_find_it(
    kept: tuple[int, int], span: tuple[int, int]
) -> None:
    at_the_end = kept[0] == span[0]
    text = TEXTS[1][slice(*kept)]
    cut = f"{text}#{'x' * 9}" if at_the_end else f"{'x' * 9}#{text}"
    (found,) = Corpus([SET]).find(cut)
    assert (found.span.start, found.span.end) == span
