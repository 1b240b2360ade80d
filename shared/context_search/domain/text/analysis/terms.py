"""Text to tokens: the one analysis of index, query and highlighting."""

from __future__ import annotations

from itertools import chain
from operator import add

from .bounded_memo import BoundedMemo
from .names import is_plain_word, name_spans, token_of
from .normalization import normalize
from .pieces import PIECE, has_unspaced, is_unspaced
from .question_words import without_question_words

_SHORTEST_WORD = 4  # letters; shorter parts of a version or model are hardly words
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
    return list(query_weights(text))


def query_weights(text: str) -> dict[str, float]:
    """The tokens of ``query_tokens`` with what each counts, 1 but for parts of a version or model.

    ``GPLv3`` is five tokens, ``2.0`` three, each of them in many a text: the whole counts half, and
    what of it is no word by itself, numbers and parts under four letters, shares the other half.

    >>> query_weights("release 2.0")
    {'releas': 1.0, '2.0': 0.5, '2': 0.25, '0': 0.25}
    """
    weights: dict[str, float] = {}
    for piece in PIECE.findall(topic(text)):
        names = piece_tokens(piece)
        shares = _shares(names) if len(names) > 1 and not is_unspaced(piece) else [1.0] * len(names)
        for name, share in zip(names, shares, strict=True):
            weights[name] = max(share, weights.get(name, 0.0))
    return weights


def _shares(names: list[str]) -> list[float]:
    """What each token of a name counts, the whole first."""
    whole, *parts = names
    if not any(map(str.isdigit, whole)):
        return [1.0] * len(names)
    is_word = [part.isalpha() and len(part) >= _SHORTEST_WORD for part in parts]
    share = 0.5 / max(1, is_word.count(False))
    return [0.5, *(1.0 if each else share for each in is_word)]


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
