"""One spelling for what readers take as the same: compatibility forms, accents, scripts.

NFKC (UAX #15), then a fold per character: traditional to simplified Chinese, accents off Latin
and Greek letters, vowel points off Hebrew and Arabic ones, every decimal digit to ASCII. Case is
kept, because ``fooBar`` is cut where it changes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise

from context_search.text.analysis.bounded_memo import BoundedMemo
from context_search.text.analysis.script_folding import SIMPLIFIED, TRADITIONAL

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

# Characters that no neighbour changes, in the scripts whose characters are not made of several.
_IDEOGRAPHS = (range(0x3400, 0x4DC0), range(0x4E00, 0xA000), range(0xAC00, 0xD7A4))  # and Hangul
_ALONE = (
    range(0x80),
    range(0xA0, 0x300),  # Latin
    range(0x370, 0x483),  # Greek, Cyrillic
    range(0x48A, 0x530),
    range(0x1E00, 0x2000),  # more of Latin and Greek
    range(0x2010, 0x2028),  # dashes, quotation marks, ellipses
    range(0x3000, 0x302A),  # East Asian punctuation
    range(0x3041, 0x3097),  # kana
    range(0x30A0, 0x3100),
    *_IDEOGRAPHS,
    range(0xFF01, 0xFF9E),  # full and half width
)
_NOT_ALONE = re.compile(f"[^{''.join(f'{chr(each[0])}-{chr(each[-1])}' for each in _ALONE)}]")


@lru_cache(maxsize=1)
def _alone_folded() -> Sequence[int | str]:
    """Returns what each character of ``_ALONE`` becomes, by its code point.

    ``str.translate`` reads a list in half the time of a dict that computes what it lacks.
    """
    folds: list[int | str] = list(range(0x10000))
    for code_point in chain.from_iterable(each for each in _ALONE if each not in _IDEOGRAPHS):
        folds[code_point] = unicodedata.normalize("NFKC", chr(code_point)).translate(_FOLDED)
    for traditional, simplified in zip(TRADITIONAL, SIMPLIFIED, strict=True):
        if ord(traditional) < len(folds):
            folds[ord(traditional)] = ord(simplified)
    return folds


# Characters that stay what they are, and punctuation that joins no words and stays punctuation.
_NOT_PLAIN_EAST_ASIAN = re.compile(
    "[^\x00-\x7f·—‘“”\u3000-\u3029\u3041-\u3096\u30a0-\u30fe\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "！＂＃＄％（）＊＋，：；＜＝＞？［＼］｛｜｝～]"
)


def is_plain_east_asian(text: str) -> bool:
    """Whether ``normalize`` does nothing to the words of a text but to simplify ideographs."""
    return _NOT_PLAIN_EAST_ASIAN.search(text) is None


@lru_cache(maxsize=1)
def _traditional_of() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for traditional, simplified in zip(TRADITIONAL, SIMPLIFIED, strict=True):
        found.setdefault(simplified, []).append(traditional)
    return found


def traditional_forms(text: str) -> list[tuple[str, str]]:
    """Returns every traditional ideograph that a character of ``text`` simplifies, and that."""
    known = _traditional_of()
    return [(form, each) for each in sorted(set(text)) for form in known.get(each, ())]


def normalize(text: str) -> str:
    """Returns ``text`` in the spelling that is analysed; linear in its length."""
    if text.isascii():
        return text
    if not _NOT_ALONE.search(text):
        return text.translate(_alone_folded())
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
