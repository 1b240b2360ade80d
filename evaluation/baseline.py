"""Plain BM25 by a library (bm25s, its own tokenizer and defaults), on the same chunks."""

from __future__ import annotations

from collections.abc import Mapping

import bm25s

from context_search.ranking.measures import DEPTH, TextRange


class PlainBm25:
    """What search without our analysis and ranking finds."""

    def __init__(self, chunks: Mapping[TextRange, str]) -> None:
        self._spans = list(chunks)
        self._index = bm25s.BM25()
        tokens = bm25s.tokenize(list(chunks.values()), stopwords="en", show_progress=False)
        self._is_empty = not any(tokens.ids)
        if not self._is_empty:  # it fails without a single word
            self._index.index(tokens, show_progress=False)

    def ask(self, question: str) -> list[TextRange]:
        """Returns the first chunks with a word of the question, best first."""
        if self._is_empty:
            return []
        tokens = bm25s.tokenize(question, stopwords="en", return_ids=False, show_progress=False)
        depth = min(DEPTH, len(self._spans))
        rows, scores = self._index.retrieve(tokens, k=depth, show_progress=False)
        return [
            self._spans[row] for row, score in zip(rows[0], scores[0], strict=True) if score > 0
        ]
