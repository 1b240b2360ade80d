"""Where one piece of text that is analysed on its own ends and the next begins."""

from __future__ import annotations

import re
import unicodedata

# Scripts written without spaces between words, and Hangul, whose particles stick to the word.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0edf"  # Thai, Lao
    "\u1000-\u1049\u1050-\u109d\u1780-\u17d3"  # Burmese, Khmer
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb"  # Hangul
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\U0001aff0-\U0001b16f"  # kana
    "\u3105-\u312f\u31a0-\u31bf"  # bopomofo
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b"  # Han: radicals, signs, numerals
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han: ideographs
)
_BLOCKS_WITH_VOWEL_MARKS = (
    range(0x0900, 0x0E00),  # Devanagari to Sinhala
    range(0x0F00, 0x1000),  # Tibetan
    range(0x1700, 0x1780),  # scripts of the Philippines
    range(0x1800, 0x1D00),  # Mongolian to the Vedic extensions
    range(0xA800, 0xAC00),  # Syloti Nagri to Meetei Mayek
)
_MARKS = "".join(
    chr(code_point)
    for block in _BLOCKS_WITH_VOWEL_MARKS
    for code_point in block
    if unicodedata.category(chr(code_point)) in {"Mn", "Mc"}
)

# `re` has no script properties and counts no mark as \w. Every quantifier is possessive: what it
# took is never given back, so the time is linear whatever the text.
_LETTERS = rf"[^\W_{_UNSPACED}]++"
_WORD = rf"{_LETTERS}(?:[{_MARKS}]++(?:{_LETTERS})?+)*+"
PIECE = re.compile(rf"[{_UNSPACED}]++|{_WORD}(?:(?:_++|[-./@&']){_WORD})*+")
"""A run of an unspaced script, or words joined by ``_`` or by one of ``- . / @ & '``."""

_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")


def has_unspaced(text: str) -> bool:
    """Whether there is a character of a script written without spaces."""
    return not text.isascii() and _UNSPACED_CHARACTER.search(text) is not None


def is_unspaced(piece: str) -> bool:
    """Whether a match of ``PIECE`` is a run of a script written without spaces."""
    return _UNSPACED_CHARACTER.match(piece) is not None
