"""Text to tokens: the one analysis of index, query and highlighting."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import chain
from operator import add

from Stemmer import Stemmer

from context_search.text.analysis.bounded_memo import BoundedMemo
from context_search.text.analysis.normalization import normalize

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
    """Returns the query's tokens and their weights.

    The weight is 1, except for the parts of a version or model name, which share one weight.
    ``GPLv3`` is five tokens, ``2.0`` three, and many texts have each of them. The whole name counts
    half. Its parts that are no words (numbers, and parts under four letters) share the other half.

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


def with_name(words: Mapping[str, float], query: str) -> Mapping[str, float]:
    """Returns the query's words; of a name, also the whole, which counts as much as all of them.

    A query of three Han characters and nothing else is a name or a term, and no sentence. A text
    with the first two somewhere and the last two elsewhere has all of its tokens, but not the name.
    No index has the whole as a token: it is looked for in texts.

    >>> with_name(query_weights("水位计"), "水位计？")["水位计"]
    2.3333333333333335
    """
    pieces = PIECE.findall(topic(query))
    if len(pieces) != 1 or not is_name(pieces[0]):
        return words
    whole = sum(weight * len(word) for word, weight in words.items()) / len(pieces[0])
    return {**words, pieces[0]: whole}


def is_name(word: str) -> bool:
    """Says whether a word of a question is a name as ``with_name`` has it; no token is one."""
    return _NAME.fullmatch(word) is not None


def _shares(names: list[str]) -> list[float]:
    """Returns the weight of each token of a name, the whole name first."""
    whole, *parts = names
    if not any(map(str.isdigit, whole)):
        return [1.0] * len(names)
    is_word = [part.isalpha() and len(part) >= _SHORTEST_WORD for part in parts]
    share = 0.5 / max(1, is_word.count(False))
    return [0.5, *(1.0 if each else share for each in is_word)]


def topic(query: str) -> str:
    """A query, normalized, without its question words; with them when it has no other tokens."""
    normalized = normalize(query)
    rest = _without_question_words(normalized)
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


# ---- Words and identifiers: where a joined piece is cut, and what token each part becomes.

MAX_TOKEN_CHARACTERS = 128
MAX_TOKEN_BYTES = 254
"""turbopuffer drops tokens over ``max_token_length``: 39 bytes by default, 254 at most."""

# A name is cut at each of these in turn: what encloses names, what joins them, what joins
# their words, then between letters and digits, then where ASCII case changes (HTTP|Server, URLs).
_SEPARATORS = tuple(re.compile(f"[^{characters}]++") for characters in ("/@&", ".'", "_-"))
_DIGITS = re.compile("[0-9]++|[^0-9]++")
_HUMPS = re.compile("[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LEVELS = (*_SEPARATORS, _DIGITS, _HUMPS)
_MAX_UNSEPARATED_PARTS = 12  # of one name; more of them make a hash or base64, not words


class _PerThread(threading.local):
    """PyStemmer: "must not be called concurrently". Its cache is slower than stemming."""

    def __init__(self) -> None:
        self.stem = Stemmer("english", 0).stemWord


_ENGLISH = _PerThread()


def token_of(name: str) -> str:
    """Case-folded, stemmed where it is all ASCII letters, cut to the limits; "" for stop words."""
    folded = name[:MAX_TOKEN_CHARACTERS].casefold()[:MAX_TOKEN_CHARACTERS]
    if folded in _STOP_WORDS:
        return ""
    if folded.isascii():
        return str(_ENGLISH.stem(folded)) if folded.isalpha() else folded
    return folded.encode()[:MAX_TOKEN_BYTES].decode(errors="ignore")


def is_plain_word(piece: str) -> bool:
    """Says that the whole is the only name in a piece; most words are ``plain`` or ``Plain``."""
    return piece.isascii() and piece.isalpha() and (len(piece) == 1 or piece[1:].islower())


def name_spans(piece: str) -> Iterator[tuple[int, int]]:
    """Spans of the names in a piece, the whole first, then its parts level by level.

    ``docs/read_v2.md``: all of it, ``docs``, ``read_v2.md``, ``read_v2``, ``read``, ``v2``,
    ``v``, ``2``, ``md``. A possessive 's is left out; a contraction has no spans.
    """
    if piece.casefold() in _STOP_WORDS:
        return iter(())
    end = len(piece) - 2 if piece.endswith(("'s", "'S")) else len(piece)
    return _spans(piece, 0, end, 0)


def _spans(piece: str, start: int, end: int, level: int) -> Iterator[tuple[int, int]]:
    if level == len(_LEVELS):
        yield start, end
        return
    parts = _parts(piece, start, end, level)
    if len(parts) != 1:
        yield start, end
    for part in parts:
        yield from _spans(piece, *part, level + 1)


def _parts(piece: str, start: int, end: int, level: int) -> list[tuple[int, int]]:
    """The parts of a name at one level; none for digits alone or what is not made of words."""
    cut = _LEVELS[level]
    if cut is _HUMPS and not piece[start:end].isascii():
        return [(start, end)]
    parts = [match.span() for match in cut.finditer(piece, start, end)]
    return parts if cut in _SEPARATORS or len(parts) <= _MAX_UNSEPARATED_PARTS else []


# ---- Where one piece of text that is analysed on its own ends and the next begins.

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # ideographs
# Scripts written without spaces between words, and Hangul, whose particles stick to the word.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0edf"  # Thai, Lao
    "\u1000-\u1049\u1050-\u109d\u1780-\u17d3"  # Burmese, Khmer
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb"  # Hangul
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\U0001aff0-\U0001b16f"  # kana
    "\u3105-\u312f\u31a0-\u31bf"  # bopomofo
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b" + _HAN  # Han: radicals, signs, numerals
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
_RUN = rf"[{_UNSPACED}]++"
_WORDS = rf"{_WORD}(?:(?:_++|[-./@&']){_WORD})*+"
PIECE = re.compile(f"{_RUN}|{_WORDS}")
"""A run of an unspaced script, or words joined by ``_`` or by one of ``- . / @ & '``."""
RUN_OR_WORDS = re.compile(f"({_RUN})|{_WORDS}")
"""``PIECE``; a run is the group."""

_NAME = re.compile(f"[{_HAN}]{{3}}")
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")


def has_unspaced(text: str) -> bool:
    """Whether there is a character of a script written without spaces."""
    return not text.isascii() and _UNSPACED_CHARACTER.search(text) is not None


def is_unspaced(piece: str) -> bool:
    """Whether a match of ``PIECE`` is a run of a script written without spaces."""
    return _UNSPACED_CHARACTER.match(piece) is not None


# ---- Words that are not searched for.
# English ones that carry no meaning of their own are not indexed either. They are the list of the
# Snowball project, complete and unchanged, contractions included
# (https://snowballstem.org/algorithms/english/stop.txt, BSD 3-clause, Copyright 2001 Martin
# Porter, 2002 Richard Boulton). It leaves out "us", "will", "can", "may" and "must" on purpose.

_STOP_WORDS = frozenset(
    """
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself
    she her hers herself it its itself they them their theirs themselves
    what which who whom this that these those
    am is are was were be been being have has had having do does did doing
    would should could ought
    i'm you're he's she's it's we're they're i've you've we've they've
    i'd you'd he'd she'd we'd they'd i'll you'll he'll she'll we'll they'll
    isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't
    won't wouldn't shan't shouldn't can't cannot couldn't mustn't
    let's that's who's what's here's there's when's where's why's how's
    a an the and but if or because as until while
    of at by for with about against between into through during before after above below
    to from up down in out on off over under again further then once here there when where why how
    all any both each few more most other some such no nor not only own same so than too very
    """.split()  # noqa: SIM905 - a list literal would be five times as long
)


# ---- Chinese words that make a sentence a question; not searched for.
# English ones are stop words. Chinese text is indexed whole, so these are taken out of the question
# only: an answer has no 什么, and a passage that asks the same has no answer. They are the closed
# class of the grammars (Li, Thompson: Mandarin Chinese, 1981, chapter 18), without 几 and 何 on
# their own, which are parts of many names and terms (几何). docs/quality.md has what that gains.

# After normalization, so in simplified characters. 哪吒 (there 哪咤) is a name; 吗 and 呢 are
# particles at the end of a clause only, as 吗啡 and 呢绒 are things.
_QUESTION_WORD = re.compile(
    r"为什么|什么(?:时候|样)?|怎么样?|怎样|如何|为何|何[时地人处种年]|多少|谁|哪[些个里儿]?(?!咤)"
    r"|是否|请问|[吗呢](?=\W|\Z)"
)


def _without_question_words(normalized: str) -> str:
    """Returns a normalized question with a space for each of its question words.

    >>> _without_question_words("请问闸门什么时候打开")
    ' 闸门 打开'
    """
    return _QUESTION_WORD.sub(" ", normalized)
