"""Texts are searched together, a long one by itself."""

from __future__ import annotations

import pytest

from context_search.text.batches import BATCH_CHARS, batches


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([], []),
        ([0], [1]),
        ([0, 0, 0], [3]),
        ([BATCH_CHARS, 0], [2]),
        ([1, BATCH_CHARS, 1], [1, 1, 1]),
        ([BATCH_CHARS * 3, 1, 1], [1, 2]),
    ],
)
def test_short_texts_make_batches(lengths: list[int], expected: list[int]) -> None:
    texts = ["x" * length for length in lengths]
    assert [len(batch) for batch in batches(texts)] == expected
    assert [text for batch in batches(texts) for text in batch] == texts
