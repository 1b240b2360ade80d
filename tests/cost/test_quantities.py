"""The quantities of the model that texts alone decide, measured once more."""

from __future__ import annotations

import random

import pytest

from context_search.integrations.models.tiktoken_counter import TiktokenCounter
from context_search.text.chunking import chunk_spans, window_texts
from context_search.text.keywords import keyword_tokens, trails
from scripts.cost.load import Language
from scripts.cost.quantities import quantity
from tests.cost.texts import QUESTIONS, corpus, edited

TOLERANCE = 0.1
EDITS = 600
COUNTER = TiktokenCounter()


def chunks(text: str) -> list[str]:
    return [text[span.start : span.end] for span in chunk_spans(text, size=1_000, overlap=100)]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_becomes_of_a_text(language: Language) -> None:
    text = corpus(language)
    spans = chunk_spans(text, size=1_000, overlap=100)
    above = trails(text, [span.start for span in spans])
    cut = [text[span.start : span.end] for span in spans]
    windows = 250 if language == "zh" else 0
    tokens = [keyword_tokens(*each) for each in zip(cut, above, strict=True)]
    measured = {
        "chunks": 1_000 * len(cut) / len(text),
        "windows": sum(len(window_texts(each, windows)) for each in cut) / len(cut),
        "embedded": sum(map(len, cut)) / len(text),
        "model tokens": COUNTER.count(text) / len(text),
        "question tokens": COUNTER.count(QUESTIONS[language].format(5)),
        "stored tokens": sum(len("".join(each).encode()) for each in tokens) / len(text),
    }
    expected = {name: quantity(name, language) for name in measured}
    assert measured == pytest.approx(expected, rel=TOLERANCE)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_how_many_chunks_a_new_sentence_changes(language: Language) -> None:
    source, text, size = random.Random(1), corpus(language), 15_000
    changed = 0
    for number in range(EDITS):
        first = source.randrange(len(text) - size)
        before = text[first:][:size]
        after = edited(before, language, source.randrange(size), number)
        changed += len(set(chunks(after)) - set(chunks(before)))
    expected = quantity("changed chunks", language)
    # The text has some forty cuts: a sentence more in the handbook moves the figure by a fifth.
    assert changed / EDITS == pytest.approx(expected, rel=0.25)
