"""Which characters of a text a query matched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .names import name_spans, token_of
from .normalization import normalize_with_offsets
from .pieces import PIECE, is_unspaced
from .terms import characters_and_bigrams, piece_tokens, topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Span = tuple[int, int]


def match_spans(text: str, query: str) -> list[Span]:
    """What of ``text`` matches the query's tokens: sorted, disjoint spans of code points.

    ``text[start:end]`` of every span has a token in common with the query. In Han, kana and
    Hangul a single character counts only where the query has it on its own: the characters of
    a longer run would light up everything.
    """
    wanted = _wanted(query)
    if not wanted:
        return []
    normalized = normalize_with_offsets(text)
    found = (
        (match.start() + start, match.start() + end)
        for match in PIECE.finditer(normalized.text)
        for start, end in _piece_matches(match.group(), wanted)
    )
    return _merge(sorted(normalized.original_span(*span) for span in found))


def _wanted(query: str) -> frozenset[str]:
    found: set[str] = set()
    for piece in PIECE.findall(topic(query)):
        several = is_unspaced(piece) and len(piece) > 1
        found.update(token for token in piece_tokens(piece) if not several or len(token) > 1)
    return frozenset(found)


def _piece_matches(piece: str, wanted: frozenset[str]) -> Iterator[Span]:
    if is_unspaced(piece):
        for i, gram in enumerate(characters_and_bigrams(piece)):
            if gram in wanted:
                start = i if i < len(piece) else i - len(piece)
                yield start, start + len(gram)
    elif not wanted.isdisjoint(piece_tokens(piece)):
        for start, end in name_spans(piece):
            if token_of(piece[start:end]) in wanted:
                yield start, end


def _merge(spans: Iterable[Span]) -> list[Span]:
    """Sorted spans with those that overlap or touch made one."""
    merged: list[Span] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
