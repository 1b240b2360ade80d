"""One spelling for what readers take as the same: compatibility forms, accents, scripts.

NFKC (UAX #15), then a fold per character: traditional to simplified Chinese, accents off Latin
and Greek letters, vowel points off Hebrew and Arabic ones, every decimal digit to ASCII. Case is
kept, because ``fooBar`` is cut where it changes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from context_search.domain.text.analysis.bounded_memo import BoundedMemo
from context_search.domain.text.analysis.script_folding import SIMPLIFIED, TRADITIONAL

# Stream-Safe Text Format (UAX #15 section 13): unicodedata takes quadratic time to order a long
# run of combining characters, and no language needs more than 30.
_MAX_COMBINING = 30
_LONG_COMBINING = re.compile(rf"[^\w\s\x00-\x7f]{{{_MAX_COMBINING + 1}}}")

_SPECIAL = {
    **dict(zip(TRADITIONAL, SIMPLIFIED, strict=True)),
    **dict(zip("’ʼ‐łŁøØđĐħĦıёЁ", "''-lLoOdDhHiеЕ", strict=True)),
    **dict(zip("æÆœŒ", ("ae", "AE", "oe", "OE"), strict=True)),
    **dict.fromkeys("\u00ad\u0640\u200c\u200d\u2060\ufeff", ""),  # soft hyphen, tatweel, joiners
}
# Nonspacing marks before Devanagari's block and in the blocks for symbols and variants are
# optional in writing; those of the Indic scripts are vowels.
_OPTIONAL_MARKS = re.compile(
    "[\u0300-\u08ff\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe2f\U000e0100-\U000e01ef]"
)
_LATIN_OR_GREEK = re.compile("[A-Za-z\u00c0-\u024f\u0370-\u03ff]")


def _fold_code_point(code_point: int) -> str:
    character = chr(code_point)
    if character in _SPECIAL:
        return _SPECIAL[character]
    category = unicodedata.category(character)
    if category == "Mn" and _OPTIONAL_MARKS.match(character):
        return ""
    if category == "Nd":
        return str(unicodedata.decimal(character))
    base = unicodedata.normalize("NFD", character)[0]
    return base if _LATIN_OR_GREEK.match(base) else character


_FOLDED = BoundedMemo(_fold_code_point, limit=50_000)


def normalize(text: str) -> str:
    """Returns ``text`` in the spelling that is analysed; linear in its length."""
    if text.isascii():
        return text
    text = _expose_combining(text)
    if _LONG_COMBINING.search(text):
        return "".join(map(_normalize_segment, _segments(text)))
    return unicodedata.normalize("NFKC", text).translate(_FOLDED)


@dataclass(frozen=True, slots=True)
class NormalizedText:
    """``text`` after normalization and where its characters came from.

    Character i of ``text`` comes from ``[starts[i], ends[i])`` of the original, in code points;
    both lists are ``None`` when characters correspond one to one.
    """

    text: str
    starts: list[int] | None = None
    ends: list[int] | None = None

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """The span of the original that ``[start, end)`` of ``text`` (not empty) came from."""
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]


def normalize_with_offsets(
    text: str, normalized: Callable[[str], str] = normalize
) -> NormalizedText:
    """:func:`normalize`, and the way back to the original; slower.

    ``normalized`` is ``normalize`` for who remembers what it returned.
    """
    if text.isascii() or all(map(_ONE_TO_ONE.__getitem__, set(text))):
        return NormalizedText(normalized(text))
    segments = list(_segments(_expose_combining(text)))
    folded = [_normalize_segment(segment) for segment in segments]
    joined = "".join(folded)
    starts: list[int] = []
    ends: list[int] = []
    position = 0
    for segment, spelling in zip(segments, folded, strict=True):
        end = position + len(segment)
        starts += [position] * len(spelling)
        ends += [end] * len(spelling)
        position = end
    return NormalizedText(joined, starts, ends)


def _expose_combining(text: str) -> str:
    """Half-width voicing marks, the only letters that NFKC turns into combining characters."""
    return text.replace("\uff9e", "\u3099").replace("\uff9f", "\u309a")


def _segments(text: str) -> Iterator[str]:
    """Cut where NFKC of the parts is the parts of NFKC: before what cannot join what precedes."""
    bounds = [0, *(i for i, c in enumerate(text) if i and not _JOINS[c]), len(text)]
    longest = _MAX_COMBINING + 1
    for start, end in pairwise(bounds):
        for cut in range(start, end, longest):
            yield text[cut : min(cut + longest, end)]


def _joins_previous(character: str) -> bool:
    """A combining mark, or a Hangul vowel or final consonant (UAX #15: not NFC_QC=Yes)."""
    first = unicodedata.normalize("NFKD", character)[0]
    return unicodedata.category(first)[0] == "M" or "\u1161" <= first <= "\u11c2"


_JOINS = BoundedMemo(_joins_previous, limit=50_000)


@lru_cache(maxsize=8_192)
def _normalize_segment(segment: str) -> str:
    return unicodedata.normalize("NFKC", segment).translate(_FOLDED)


def _is_one_to_one(character: str) -> bool:
    return not _JOINS[character] and len(_normalize_segment(_expose_combining(character))) == 1


_ONE_TO_ONE = BoundedMemo(_is_one_to_one, limit=50_000)
