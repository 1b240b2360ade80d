"""Where a chunk may begin or end well: paragraph, sentence and word boundaries.

A boundary is the position after its mark, so the mark stays with the text before it. The sentence
pattern has bounded repetitions only, so a search costs no more than its window.
"""

from __future__ import annotations

import re

import regex

_PARAGRAPHS = ("\n\n", "\n\r\n")
_SENTENCE = re.compile(
    r"\n"
    r"|[.!?][\"'”’)\]]{0,3} "
    r"|[。！？；…]{1,3}[」』”’）]{0,3}"
)
_LONGEST_SENTENCE_MARK = 6
_LAST_SENTENCE_MARK = regex.compile(r"(?r)[\n.!?。！？；…]")
_WORD = re.compile(r"[ \t\u3000]")
_LAST_WORD = regex.compile(r"(?r)[ \t\u3000]")


class TextBoundaries:
    """The boundaries of one text, found on demand in small windows; positions in code points."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._paragraphs = tuple(mark for mark in _PARAGRAPHS if mark[-2] in text)

    def latest(self, low: int, high: int) -> int:
        """The last boundary of the best class in ``low..high`` (both included), else ``high``.

        Paragraphs before sentences and lines, before words. Needs ``0 < low <= high < len(text)``.
        """
        if boundary := self._last_paragraph(low, high) or self._last_sentence(low, high):
            return boundary
        word = _LAST_WORD.search(self._text, low - 1, high)
        return word.end() if word else high

    def earliest(self, low: int, high: int) -> int:
        """The first sentence boundary in ``low..high`` (both included), else word, else ``low``.

        Needs ``0 < low <= high < len(text)``.
        """
        sentence = _SENTENCE.search(self._text, low - 1, high + _LONGEST_SENTENCE_MARK)
        if sentence and sentence.end() <= high:
            return sentence.end()
        word = _WORD.search(self._text, low - 1, high)
        return word.end() if word else low

    def _last_paragraph(self, low: int, high: int) -> int:
        """0 if there is none."""
        text, best = self._text, 0
        line_end = text.rfind("\n", low - 1, high) + 1
        for mark in self._paragraphs if line_end else ():
            at = text.rfind(mark, max(0, low - len(mark)), line_end)
            if at >= 0:
                best = max(best, at + len(mark))
        return best

    def _last_sentence(self, low: int, high: int) -> int:
        """0 if there is none."""
        first = max(0, low - _LONGEST_SENTENCE_MARK)
        mark = _LAST_SENTENCE_MARK.search(self._text, first, high)
        while mark:
            sentence = _SENTENCE.match(self._text, mark.start())
            if sentence and low <= sentence.end() <= high:
                return sentence.end()
            mark = _LAST_SENTENCE_MARK.search(self._text, first, mark.start())
        return 0
