"""Text to tokens: the one analysis of index, query and highlighting."""

from __future__ import annotations

from itertools import chain
from operator import add

from .bounded_memo import BoundedMemo
from .names import is_plain_word, name_spans, token_of
from .normalization import normalize
from .pieces import PIECE, has_unspaced, is_unspaced
from .question_words import without_question_words

_LONGEST_REMEMBERED = 40  # characters of a piece; longer ones hardly come twice


def tokens(text: str) -> list[str]:
    """The tokens of ``text``, in order, with repetitions; each 1..128 characters, <= 254 bytes.

    Words and identifiers whole and in parts, English stemmed and without stop words; runs of
    Han, kana and Hangul as their characters, then their overlapping bigrams. Linear in time.
    """
    return _tokens(normalize(text))


def _tokens(normalized: str) -> list[str]:
    pieces = PIECE.findall(normalized)
    if not has_unspaced(normalized):
        return list(chain.from_iterable(map(piece_tokens, pieces)))
    found: list[str] = []
    for piece in pieces:  # runs are not remembered, so asking the memo for them is a fifth slower
        found += characters_and_bigrams(piece) if is_unspaced(piece) else piece_tokens(piece)
    return found


def query_tokens(text: str) -> list[str]:
    """The distinct tokens of what a query is about, in order of appearance, as the index has them.

    Empty when the query holds stop words only: the index has none to find.
    """
    return list(dict.fromkeys(_tokens(topic(text))))


def topic(query: str) -> str:
    """A query, normalized, without its question words; with them when it has no other tokens."""
    normalized = normalize(query)
    rest = without_question_words(normalized)
    return rest if _tokens(rest) else normalized


def has_searchable_character(text: str) -> bool:
    """Whether there is a letter or a number, after normalization; without one no tokens come."""
    return PIECE.search(normalize(text)) is not None


def characters_and_bigrams(run: str) -> list[str]:
    """Every character of the run, then every two neighbours."""
    return [*run, *map(add, run, run[1:])]


def _analyse_piece(piece: str) -> list[str]:
    if is_unspaced(piece):
        return characters_and_bigrams(piece)
    if is_plain_word(piece):
        word = token_of(piece)
        return [word] if word else []
    names = (token_of(piece[start:end]) for start, end in name_spans(piece))
    return [name for name in names if name]


def _is_common(piece: str) -> bool:
    return len(piece) <= _LONGEST_REMEMBERED and not is_unspaced(piece)


piece_tokens = BoundedMemo(_analyse_piece, limit=32_768, keep=_is_common).__getitem__
"""Tokens of one match of ``PIECE``; not to be changed by the caller."""
