"""Where a match may begin and end in a text: at the edges of words and of characters."""

from __future__ import annotations

from context_search.text.graphemes import GraphemeClusters
from context_search.text.words import is_edge


class Borders:
    """The borders of one text, as far as a request respects them."""

    def __init__(
        self, text: str, *, whole_word: bool = False, whole_characters: bool = True
    ) -> None:
        self._text = text
        self._whole_word = whole_word
        self._clusters = GraphemeClusters(text) if whole_characters else None

    def is_word(self, start: int, end: int) -> bool:
        """Whether ``[start, end)`` may be a word, where only words are asked for."""
        return not self._whole_word or (is_edge(self._text, start) and is_edge(self._text, end))

    def is_whole(self, start: int, end: int) -> bool:
        """Whether ``[start, end)`` cuts no grapheme cluster of up to 64 code points.

        CR LF is one, and may be cut.
        """
        return self._clusters is None or (
            self._may_cut(self._clusters, start) and self._may_cut(self._clusters, end)
        )

    def _may_cut(self, clusters: GraphemeClusters, position: int) -> bool:
        return self._text[max(0, position - 1) : position + 1] == "\r\n" or clusters.is_boundary(
            position
        )
