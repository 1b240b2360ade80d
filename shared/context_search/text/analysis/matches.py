"""What of a text a question matches.

Ranking counts tokens (``TermFinder``), readers see characters (``match_spans``), and a list of
results shows the part of a passage with the most matches (``snippet``).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain
from operator import add

from context_search.text.analysis.bounded_memo import BoundedMemo
from context_search.text.analysis.normalization import (
    is_plain_east_asian,
    normalize,
    normalize_with_offsets,
    traditional_forms,
)
from context_search.text.analysis.terms import (
    PIECE,
    RUN_OR_WORDS,
    characters_and_bigrams,
    has_unspaced,
    is_unspaced,
    name_spans,
    piece_tokens,
    token_of,
    topic,
)

Occurrence = tuple[int, str]
"""Occurrence of a token: its position among the tokens of a text, and the token. Positions are
counted from somewhere before the first one that was found: only their distances say something.
"""
_LENGTH_OF_DIE = 3
_OF_NEIGHBOURS = (2, 3)  # characters of a run that are a word of a question: a pair, and a name
_MOST_LOOKED_FOR = 64
"""Maximum number of word beginnings that are looked for. Each takes a pass over the text; so many
passes cost about as much as all tokens.
"""
_MOST_SEGMENTS = 4_096
_LONGEST_REMEMBERED = 40  # characters of what stands between spaces; longer ones hardly come twice
_LONGEST_TEXT_REMEMBERED = 1_000


def _analyse_segment(segment: str) -> list[str]:
    return list(chain.from_iterable(map(piece_tokens, PIECE.findall(segment))))


_segment_tokens = BoundedMemo(
    _analyse_segment, limit=32_768, keep=lambda segment: len(segment) <= _LONGEST_REMEMBERED
).__getitem__
"""Tokens of what stands between spaces, which no match of ``PIECE`` reaches across."""
_normalized = BoundedMemo(
    normalize, limit=4_096, keep=lambda text: len(text) <= _LONGEST_TEXT_REMEMBERED
)
"""Texts in the spelling that is analysed: 16 MB at most. Searches find the same passages again
and again.
"""


class TermFinder:
    """Finds the tokens of a question in texts: cheaper than a list of all their tokens."""

    def __init__(self, words: Collection[str]) -> None:
        self._words = frozenset(words)
        self._longer = [
            (size, wanted)
            for size in _OF_NEIGHBOURS
            if (wanted := frozenset(word for word in words if len(word) == size))
        ]
        self._beginning_of = {word: beginning(word) for word in words}
        self._beginnings = sorted(set(self._beginning_of.values()), key=len)
        self._unspaced = [word for word in words if is_unspaced(word)]
        self._traditional = traditional_forms("".join(self._unspaced))
        self._other_beginnings = [each for each in self._beginnings if not is_unspaced(each)]
        self._firsts = frozenset(word[0] for word in words)

    def words_in(self, text: str) -> frozenset[str]:
        """Returns those words of the question that ``find`` finds, for much less."""
        [found] = self.words_in_each([text])
        return found

    def words_in_each(self, texts: Sequence[str]) -> list[frozenset[str]]:
        """Returns ``words_in`` of each text. Many together cost a third of one after the other."""
        spellings = list(map(self._spelled, texts))
        spaced = [number for number, text in enumerate(spellings) if not has_unspaced(text)]
        among = self._words_among([spellings[number] for number in spaced])
        words = dict(zip(spaced, among, strict=True))
        return [
            frozenset(words[number] if number in words else self._words_of_mixed(text))
            for number, text in enumerate(spellings)
        ]

    def find(self, text: str) -> list[Occurrence]:
        """Returns those of ``tokens(text)`` that are words of the question, in their order."""
        if not self._words:
            return []
        normalized = self._spelled(text)
        if has_unspaced(normalized):
            may_be = self._may_have(self._beginnings, normalized)
            return self._in_mixed(normalized) if may_be else []
        segments = self._between(normalized).split()
        return self._among(list(chain.from_iterable(map(_segment_tokens, segments))), 0)

    def _spelled(self, text: str) -> str:
        """Returns a text with the words of the question in the spelling that is analysed.

        To simplify what of East Asian text the question has is a tenth of normalizing it.
        """
        if text.isascii():
            return text
        if not is_plain_east_asian(text):
            return _normalized[text]
        for traditional, simplified in self._traditional:
            text = text.replace(traditional, simplified)
        return text

    def _words_of_mixed(self, normalized: str) -> list[str]:
        # Each character of a run is a token of its own, and so are any two neighbours.
        found = [word for word in self._unspaced if word in normalized]
        if self._other_beginnings and self._may_have(self._other_beginnings, normalized):
            pieces = (match.group() for match in RUN_OR_WORDS.finditer(normalized) if not match[1])
            found += self._words.intersection(chain.from_iterable(map(piece_tokens, pieces)))
        return found

    def _words_among(self, texts: Sequence[str]) -> list[set[str]]:
        """Returns the words of the question in each of some texts with spaces between words.

        Looks for the beginnings of words in all texts at once, and analyses only what stands
        between the spaces around. Once a text has a word, the search goes on in the next text.
        """
        if len(self._words) > _MOST_LOOKED_FOR:
            return [set(self._words_between_spaces(text)) for text in texts]
        folded = [text.casefold() for text in texts]
        found: list[set[str]] = [set() for _ in texts]
        for number, text in enumerate(texts):
            if len(folded[number]) != len(text):  # characters are not where they were
                found[number].update(self._words_between_spaces(text))
                folded[number] = " " * len(text)
        whole, whole_folded = " ".join(texts), " ".join(folded)
        ends = list(accumulate(len(text) + 1 for text in texts))
        words_between = BoundedMemo(self._words_between_spaces, limit=_MOST_SEGMENTS)
        for word, each in self._beginning_of.items():
            at = whole_folded.find(each)
            while at >= 0:
                number = bisect_right(ends, at)
                end = whole.find(" ", at)
                if word not in found[number]:
                    around = whole[whole.rfind(" ", 0, at) + 1 : end if end >= 0 else None]
                    found[number].update(words_between[around])
                behind = ends[number] if word in found[number] else end
                at = whole_folded.find(each, behind) if behind >= 0 else -1
        return found

    def _words_between_spaces(self, text: str) -> frozenset[str]:
        return self._words.intersection(chain.from_iterable(map(_segment_tokens, text.split())))

    def _may_have(self, beginnings: Sequence[str], normalized: str) -> bool:
        if len(beginnings) > _MOST_LOOKED_FOR:
            return True
        folded = normalized.casefold()
        return any(each in folded for each in beginnings)

    def _between(self, normalized: str) -> str:
        """Returns the part of a text from the first beginning of a word to the last one, as far as
        the spaces around it. What lies outside is not cut.
        """
        if len(self._beginnings) > _MOST_LOOKED_FOR:
            return normalized
        folded = normalized.casefold()
        firsts = [at for each in self._beginnings if (at := folded.find(each)) >= 0]
        if not firsts:
            return ""
        if len(folded) != len(normalized):  # characters are not where they were
            return normalized
        end = normalized.find(" ", max(map(folded.rfind, self._beginnings)))
        return normalized[normalized.rfind(" ", 0, min(firsts)) + 1 : end if end >= 0 else None]

    def _in_mixed(self, normalized: str) -> list[Occurrence]:
        """Looks for the first characters of words in the whole text: most of its runs have none.

        A run has the tokens of ``characters_and_bigrams``, and a name (``with_name``) begins with a
        pair. Words that begin in a run end in it.
        """
        words, longer = self._words, self._longer
        firsts = self._firsts
        starts = [i for i, character in enumerate(normalized) if character in firsts]
        found: list[Occurrence] = []
        at, passed, count = 0, 0, len(starts)
        for match in RUN_OR_WORDS.finditer(normalized):
            if not match.lastindex:
                names = piece_tokens(match.group())
                found += self._among(names, at)
                at += len(names)
                continue
            begin, end = match.span()
            while passed < count and starts[passed] < begin:
                passed += 1
            first = passed
            while passed < count and starts[passed] < end:
                passed += 1
            before = at - begin
            at += 2 * (end - begin) - 1
            if first < passed:
                here = starts[first:passed]
                found += [(before + i, one) for i in here if (one := normalized[i]) in words]
                before += end - begin
                found += [
                    (before + i, word)
                    for i in here
                    for size, wanted in longer
                    if (word := normalized[i : i + size]) in wanted
                ]
        return found

    def _among(self, names: Sequence[str], at: int) -> list[Occurrence]:
        words = self._words
        if words.isdisjoint(names):
            return []
        return [(i, name) for i, name in enumerate(names, at) if name in words]


def beginning(word: str) -> str:
    """Returns what every text that has the token has, too, when its case is folded.

    A stem ends otherwise than its words in one letter at most (``abl`` of ability), but for ``die``
    of dying and its like, and begins as they do. Other tokens are in the text as they are.
    """
    if not (word.isascii() and word.isalpha()):
        return word
    return word[:1] if len(word) == _LENGTH_OF_DIE and word.endswith("ie") else word[:-1] or word


# ---- Which characters of a text a query matched.

Span = tuple[int, int]


def match_spans(text: str, query: str) -> list[Span]:
    """What of ``text`` matches the query's tokens: sorted, disjoint spans of code points.

    ``text[start:end]`` of every span has a token in common with the query. In Han, kana and
    Hangul a single character counts only where the query has it on its own: the characters of
    a longer run would light up everything.
    """
    grams, words = _wanted(query)
    normalized = normalize_with_offsets(text, _normalized.__getitem__)
    found = [*_gram_spans(normalized.text, grams), *_word_spans(normalized.text, words)]
    return _merge(sorted(normalized.original_span(*span) for span in found))


@lru_cache(maxsize=64)  # the hits of a page have one question
def _wanted(query: str) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the tokens of runs, of one or two characters, and those of words."""
    grams: set[str] = set()
    words: set[str] = set()
    for piece in PIECE.findall(topic(query)):
        if not is_unspaced(piece):
            words.update(piece_tokens(piece))
        else:
            grams.update(piece if len(piece) == 1 else characters_and_bigrams(piece)[len(piece) :])
    return frozenset(grams), frozenset(words)


def _gram_spans(text: str, grams: Collection[str]) -> Iterator[Span]:
    """Yields where they stand: two neighbours of such scripts are of one run."""
    for size in {len(gram) for gram in grams} if has_unspaced(text) else ():
        here = text if size == 1 else map(add, text, text[1:])
        for start in [at for at, gram in enumerate(here) if gram in grams]:
            yield start, start + size


def _word_spans(text: str, words: frozenset[str]) -> Iterator[Span]:
    """Yields where they stand. Only what stands between spaces where one may begin is cut."""
    folded = text.casefold()
    if len(words) > _MOST_LOOKED_FOR or len(folded) != len(text):
        around = {(0, len(text))}
    else:
        places = (at for word in words for at in _places(folded, beginning(word)))
        around = {_between_spaces(text, at) for at in places}
    for match in chain.from_iterable(PIECE.finditer(text, *span) for span in around):
        piece = match.group()
        if not words.isdisjoint(piece_tokens(piece)):
            for start, end in name_spans(piece):
                if token_of(piece[start:end]) in words:
                    yield match.start() + start, match.start() + end


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _between_spaces(text: str, at: int) -> Span:
    end = text.find(" ", at)
    return text.rfind(" ", 0, at) + 1, end if end >= 0 else len(text)


def _merge(spans: Iterable[Span]) -> list[Span]:
    """Sorted spans with those that overlap or touch made one."""
    merged: list[Span] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


# ---- The part of a text that is shown as a result, and what in it matched.

SNIPPET_CHARS = 240
LEAD_CHARS = 60


@dataclass(frozen=True, slots=True)
class Snippet:
    """``text`` is a slice of the chunk; ``highlights`` are offsets into ``text``, code points."""

    text: str
    highlights: Sequence[Span]


def snippet(text: str, query: str) -> Snippet:
    """Returns at most 240 characters of ``text`` with the most matches, or its beginning.

    It begins up to 60 characters before a match, at a word where there is one.
    """
    spans = match_spans(text, query)
    start = _start(text, spans)
    end = min(len(text), start + SNIPPET_CHARS)
    inside = [(a - start, min(b, end) - start) for a, b in spans if start <= a < end]
    return Snippet(text[start:end], inside)


def _start(text: str, spans: Sequence[Span]) -> int:
    starts = [max(0, min(a - LEAD_CHARS, len(text) - SNIPPET_CHARS)) for a, _ in spans]
    matched = dict(zip(starts, _matched(spans, starts), strict=True))
    best = max(matched, key=matched.__getitem__, default=0)
    if best == 0:
        return 0
    space = text.find(" ", best, best + LEAD_CHARS // 2)
    return best if space < 0 else space + 1


def _matched(spans: Sequence[Span], starts: Sequence[int]) -> Iterator[int]:
    """Yields how many characters match from each start on; each span is counted once."""
    sums = [0, *accumulate(b - a for a, b in spans)]
    firsts = [a for a, _ in spans]
    for start in starts:
        end = start + SNIPPET_CHARS
        first, last = bisect_left(firsts, start), bisect_left(firsts, end)
        beyond = max(0, spans[last - 1][1] - end) if last > first else 0
        yield sums[last] - sums[first] - beyond
