"""An edit changes the chunks near it and no others; the chunks are of a good length."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pydoc_data.topics import topics
from random import Random
from typing import cast

import pytest

from context_search.text.chunking import chunk_spans

LETTERS = "etaoinshrdlucmfw"
HAN = "".join(map(chr, range(0x4E00, 0x4F00)))
NEW_PARAGRAPH = {
    "en": "A paragraph that was not here before. It has three sentences. This is the last.",
    "zh": "这里插入了一个新的段落，没有什么特别的内容。它一共有两句话。",
}
# name → (language, what ends a paragraph)
PROSE = {
    "English": ("en", "\n\n"),
    "English, one line": ("en", ""),
    "English, hard lines": ("en", "\n"),
    "Chinese": ("zh", "\n"),
    "Chinese, one line": ("zh", ""),
    "English, CRLF": ("en", "\r\n\r\n"),
}


def sentence(language: str, random: Random) -> str:
    length = random.randrange(4, 25)
    if language == "zh":
        return "".join(random.choices(HAN, k=length)) + random.choice("。。。。。！？")
    words = ("".join(random.choices(LETTERS, k=random.randrange(1, 10))) for _ in range(length))
    return " ".join(words).capitalize() + random.choice(".....?!") + " "


def prose(language: str, paragraph_end: str, length: int) -> str:
    random = Random(0)
    sentences = [sentence(language, random) for _ in range(3_000)]
    paragraphs: list[str] = []
    while length > 0:
        words = random.choices(sentences, k=random.randrange(2, 12))
        paragraphs.append("".join(words) + paragraph_end)
        length -= len(paragraphs[-1])
    return "".join(paragraphs)


def chunks(text: str) -> Counter[str]:
    return Counter(text[span.start : span.end] for span in chunk_spans(text))


@dataclass(frozen=True)
class Million:
    """A million characters of prose, its chunks, and a paragraph to put into it."""

    text: str
    chunks: Counter[str]
    paragraph: str

    def new_chunks(self, edited: str) -> int:
        """How many chunks have to be embedded after an edit."""
        return (chunks(edited) - self.chunks).total()


@pytest.fixture(scope="module", params=list(PROSE.values()), ids=list(PROSE))
def million(request: pytest.FixtureRequest) -> Million:
    language, paragraph_end = cast(tuple[str, str], request.param)
    text = prose(language, paragraph_end, 1_000_000)
    return Million(text, chunks(text), NEW_PARAGRAPH[language] + paragraph_end)


def test_a_paragraph_at_the_top_changes_at_most_five_chunks(million: Million) -> None:
    assert 1 <= million.new_chunks(million.paragraph + million.text) <= 5


def test_a_paragraph_at_the_end_changes_at_most_five_chunks(million: Million) -> None:
    assert 1 <= million.new_chunks(million.text + million.paragraph) <= 5


@pytest.mark.slow
def test_an_edit_anywhere_changes_at_most_ten_chunks(million: Million) -> None:
    changes = []
    for place in range(50_000, 950_000, 180_001):
        head, tail = million.text[:place], million.text[place:]
        edits = (head + million.paragraph + tail, head + tail[3:], head + "x" + tail)
        changes += [million.new_chunks(edited) for edited in edits]
    assert max(changes) <= 10
    assert sum(changes) / len(changes) <= 3


def test_no_cut_moves_that_is_ten_chunks_away(million: Million) -> None:
    text, paragraph = million.text, million.paragraph
    place, far = 500_000, 10_000
    before = chunk_spans(text)
    after = chunk_spans(text[:place] + paragraph + text[place:])
    moved = len(paragraph)
    assert [s for s in before if s.end < place - far] == [s for s in after if s.end < place - far]
    assert [(s.start, s.end) for s in before if s.start > place + far] == [
        (s.start - moved, s.end - moved) for s in after if s.start > place + far + moved
    ]


def test_chunks_of_prose_are_three_quarters_full(million: Million) -> None:
    lengths = [len(chunk) for chunk in million.chunks.elements()]
    assert sum(lengths) / len(lengths) >= 750


def test_chunks_of_real_english_are_three_quarters_full() -> None:
    lengths = [span.end - span.start for span in chunk_spans("\n\n".join(topics.values()))]
    assert sum(lengths) / len(lengths) >= 750
