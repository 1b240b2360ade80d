"""The part of a keyword search that runs here and not in SQL: the choice of words, and BM25."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from context_search.integrations.ports import Ranked
from context_search.ranking.bm25 import idf, term_weight
from context_search.text.analysis import tokens
from context_search.text.analysis.normalization import normalize
from context_search.text.analysis.terms import is_unspaced
from context_search.text.keywords import keys_of

MOST_WORDS = 32
"""Maximum number of words of a question that are looked up. Single characters of Han, kana and
Hangul come last.
"""
MOST_MATCHES = 20_000
"""Maximum number of matches of single words that one search reads. The rarest words come first."""
COUNTED_MATCHES = 3_000
"""Number of matches up to which a word is counted. Beyond it, the number is estimated."""


CERTAIN_HITS = 48
"""Number of chunks of a sample that have a word, from which on it says how many of all have it."""


@dataclass(frozen=True, slots=True)
class Size:
    """Size of an index: chunks, mean tokens of a chunk, chunks on a page.

    ``having`` says of words how many of ``sampled`` of the chunks have each.
    """

    chunks: int
    mean_length: float
    chunks_per_page: float = 1.0
    sampled: int = 0
    having: Mapping[str, int] = field(default_factory=dict)

    def estimated(self, word: str) -> int | None:
        """Returns how many chunks have a common word; of others the sample says nothing: None."""
        hits = self.having.get(word, 0)
        if hits < CERTAIN_HITS:
            return None
        matching = hits * self.chunks // self.sampled
        return matching if matching >= COUNTED_MATCHES else None


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the question, what it asks of the index, and how many chunks have its keys."""

    word: str
    query: str
    matching: int


@dataclass(frozen=True, slots=True)
class Counted:
    """How many chunks have the keys of a word on the first pages."""

    matching: int
    pages: int

    def estimated(self, size: Size) -> int:
        """Returns how many chunks have the word's keys in all.

        Counting ends early for common words; matches come page by page.
        """
        if self.matching < COUNTED_MATCHES:
            return self.matching
        share = self.matching / (self.pages * size.chunks_per_page)
        return max(self.matching, int(min(1.0, share) * size.chunks))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A live chunk that has the keys of ``words``; ``score`` counts each of them once."""

    doc_id: str
    score: float
    words: frozenset[str]
    length: int
    text: str


def selective(words: Collection[str]) -> list[str]:
    """Returns the distinct words to look up; of a long question some are left out."""
    distinct = dict.fromkeys(words)
    return sorted(distinct, key=lambda word: len(word) == 1 and is_unspaced(word))[:MOST_WORDS]


def is_common(pair: str, known: Mapping[str, int]) -> bool:
    """Says whether each key of a pair is a word that many chunks have: it need not be counted."""
    return all(known.get(key, 0) >= COUNTED_MATCHES for key in keys_of(pair))


def bound(pair: str, known: Mapping[str, int]) -> int:
    """Returns how many chunks have the keys of a pair at most."""
    return min(known[key] for key in keys_of(pair))


def affordable(terms: Sequence[Term]) -> list[Term]:
    """Returns the rarest words, at least one, with at most MOST_MATCHES matches together."""
    rarest = sorted(terms, key=lambda term: (term.matching, -len(term.word), term.word))
    matches = 0
    for number, term in enumerate(rarest):
        matches += term.matching
        if number and matches > MOST_MATCHES:
            return rarest[:number]
    return rarest


def rescored(
    found: Sequence[Candidate], terms: Sequence[Term], words: Mapping[str, float], size: Size
) -> list[Ranked]:
    """Returns the candidates with their BM25, those without any of the words left out.

    ``words`` says what each of them counts.
    """
    counts = {one.doc_id: _counts(one, terms) for one in found}
    having = Counter(word for count in counts.values() for word in count)
    worths = {
        term.word: words[term.word] * idf(_matching(term, having[term.word]), size.chunks)
        for term in terms
    }
    return [
        Ranked(one.doc_id, _score(counts[one.doc_id], worths, one.length, size.mean_length))
        for one in found
        if counts[one.doc_id]
    ]


def _counts(candidate: Candidate, terms: Sequence[Term]) -> dict[str, int]:
    """How often each word is in a chunk; what only its key shows is there once."""
    in_text = _frequencies(candidate.text, [term.word for term in terms])
    counts = {
        term.word: in_text[term.word] or int(_is_key(term.word) and term.word in candidate.words)
        for term in terms
    }
    return {word: count for word, count in counts.items() if count}


def _frequencies(text: str, words: Sequence[str]) -> Mapping[str, int]:
    """How often words are among the tokens of a text."""
    if all(is_unspaced(word) and len(set(word)) == len(word) for word in words):
        normalized = normalize(text)  # what they are is what one sees: five times as fast
        return {word: normalized.count(word) for word in words}
    return Counter(tokens(text))


def _matching(term: Term, having: int) -> int:
    """Returns how many chunks have a word.

    For a pair of characters, its share among the best candidates, as its keys overcount.
    """
    return term.matching if _is_key(term.word) else having


def _is_key(word: str) -> bool:
    return len(keys_of(word)) == 1


def _score(
    counts: Mapping[str, int], worths: Mapping[str, float], length: int, mean_length: float
) -> float:
    return sum(
        worths[word] * term_weight(count, length, mean_length) for word, count in counts.items()
    )
