"""What of a keyword search is done here and not in SQL: which words to ask for, and BM25."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context_search.domain.analysis import tokens
from context_search.domain.bm25 import idf, term_weight
from context_search.domain.keyword_keys import keys_of
from context_search.ports.vectors import Ranked

MOST_MATCHES = 100_000
"""How many matches of single words one search reads; the rarest words come first."""


@dataclass(frozen=True, slots=True)
class Size:
    """Of an index: its chunks, and how many tokens they have on average."""

    chunks: int
    mean_length: float


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the question, what it asks of the index, and how many chunks have its keys."""

    word: str
    query: str
    matching: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A live chunk that has the keys of ``words``; ``score`` counts each of them once."""

    doc_id: str
    score: float
    words: frozenset[str]
    length: int
    text: str


def affordable(terms: Sequence[Term]) -> list[Term]:
    """Returns the rarest words, at least one, with at most MOST_MATCHES matches together."""
    rarest = sorted(terms, key=lambda term: (term.matching, term.word))
    matches = 0
    for number, term in enumerate(rarest):
        matches += term.matching
        if number and matches > MOST_MATCHES:
            return rarest[:number]
    return rarest


def rescored(found: Sequence[Candidate], terms: Sequence[Term], size: Size) -> list[Ranked]:
    """Returns the candidates with their BM25, those without any of the words left out."""
    counts = {one.doc_id: _counts(one, terms) for one in found}
    having = Counter(word for count in counts.values() for word in count)
    worths = {term.word: idf(_matching(term, having[term.word]), size.chunks) for term in terms}
    return [
        Ranked(one.doc_id, _score(counts[one.doc_id], worths, one.length, size.mean_length))
        for one in found
        if counts[one.doc_id]
    ]


def _counts(candidate: Candidate, terms: Sequence[Term]) -> dict[str, int]:
    """How often each word is in a chunk; what only its key shows is there once."""
    in_text = Counter(tokens(candidate.text))
    counts = {
        term.word: in_text[term.word] or int(_is_key(term.word) and term.word in candidate.words)
        for term in terms
    }
    return {word: count for word, count in counts.items() if count}


def _matching(term: Term, having: int) -> int:
    """How many chunks have a word: of a pair, whose keys say too much, what the best show."""
    return term.matching if _is_key(term.word) else having


def _is_key(word: str) -> bool:
    return len(keys_of(word)) == 1


def _score(
    counts: Mapping[str, int], worths: Mapping[str, float], length: int, mean_length: float
) -> float:
    return sum(
        worths[word] * term_weight(count, length, mean_length) for word, count in counts.items()
    )
