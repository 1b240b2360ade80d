"""What the demo asks of the Chinese handbook: every edit of that text moves its chunks."""

from __future__ import annotations

import pytest

from context_search.ranking.relevance import CALIBRATIONS, relevance
from context_search.text.analysis import query_weights
from context_search.text.chunking import chunk_spans, window_texts
from local.demo.__main__ import QUESTIONS
from local.demo.documents import HANDBOOK
from local.embedding import MODEL
from local.embedding.provider import shared_encoder

_, CHINESE, ENGLISH = QUESTIONS
WINDOW_TOKENS = 250  # of the local model, local/environment.py
ANSWER = "真正从 turbopuffer 里消失，一般要过一两分钟"
BEST_OF_THE_ENGLISH_TEXTS = 0.3  # what the demo's other strings come to by shared words


@pytest.fixture(scope="module")
def handbook() -> str:
    return HANDBOOK.read_text("utf-8")


def test_the_chinese_question_of_the_demo_stands_in_the_handbook_with_its_answer(
    handbook: str,
) -> None:
    assert f"\n\n{CHINESE}通过接口修改的" in handbook


def test_the_english_question_of_the_demo_finds_the_chinese_paragraph_that_answers_it(
    handbook: str,
) -> None:
    chunks = [handbook[span.start : span.end] for span in chunk_spans(handbook)]
    windows = [(chunk, text) for chunk in chunks for text in window_texts(chunk, WINDOW_TOKENS)]
    [question] = shared_encoder().encode_queries([ENGLISH])
    cosines = shared_encoder().encode_passages([text for _, text in windows]) @ question
    best, _ = windows[int(cosines.argmax())]
    assert ANSWER in best[:200]  # the demo prints the first 420 characters
    assert relevance(float(cosines.max()), query_weights(ENGLISH), [], CALIBRATIONS[MODEL]) > (
        BEST_OF_THE_ENGLISH_TEXTS + 0.1
    )
