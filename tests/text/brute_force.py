"""Where a literal stands, said a second time: place by place, as slowly as it reads.

``random_search`` makes texts and searches in which the rules of matching are in each other's way.
"""

from __future__ import annotations

from random import Random
from unicodedata import category, normalize

import regex

from context_search.text.literals import Place

CLUSTER = regex.compile(r"\X")
WORD = regex.compile(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]")
SIDE_BY_SIDE = regex.compile(
    r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}"
    r"\p{Script=Myanmar}]"
)
TEXTS = [
    *("a", "b", "A", "aa", "ab", " ", " ", "-", "é", "e\u0301", "É", "\u0301", "\u0323"),
    *("i", "I", "İ", "ı", "i\u0307", "ß", "ẞ", "ss", "σ", "ς", "Σ", "k", "\u212a", "å", "\u212b"),
    *("林", "小", "雨", "サ", "ー", "バ", "は", "ら", "한", "국", "\u1112\u1161\u11ab", "ไ", "ที่"),
    *("𝒳", "😀", "🇩🇪", "🇨🇳", "🇩", "👩\u200d👧", "👩", "\u200d", "\r\n", "\r", "\n", "_", "1"),
    *("C++11", "iPhone手机", "$&", "$1", "\\1", "\u200b", "ﬀ", "１", "が", "か\u3099", "a a a"),
]


def places(
    text: str,
    find: str,
    *,
    case_sensitive: bool = True,
    whole_word: bool = False,
    whole_characters: bool = True,
) -> list[Place]:
    """Where a literal stands in a text with clusters of at most 64 code points."""
    ends = {0, *(cluster.end() for cluster in CLUSTER.finditer(text))}
    ends |= {at for at in range(1, len(text)) if text[at - 1 : at + 1] == "\r\n"}
    forms = {find, normalize("NFC", find), normalize("NFD", find)}
    found, at = [], 0
    while at < len(text):
        words = [
            end
            for form in sorted(forms, key=len, reverse=True)
            if is_equal(text[at : (end := at + len(form))], form, case_sensitive=case_sensitive)
            and (not whole_word or (is_edge(text, at) and is_edge(text, end)))
        ]
        whole = [end for end in words if not whole_characters or (at in ends and end in ends)]
        found += [Place(at, end, inside_character=not whole) for end in (whole or words)[:1]]
        at = whole[0] if whole else at + 1
    return found


def is_equal(one: str, other: str, *, case_sensitive: bool) -> bool:
    if case_sensitive or len(one) != len(other):
        return one == other
    return all(letter(a) == letter(b) for a, b in zip(one, other, strict=True))


def letter(character: str) -> str:
    if character == "ς":
        return "σ"
    return character if character == "İ" else character.lower()


def is_edge(text: str, at: int) -> bool:
    if at in (0, len(text)):
        return True
    before, after = text[at - 1], text[at]
    if category(after).startswith("M"):
        return False
    if SIDE_BY_SIDE.match(before) or SIDE_BY_SIDE.match(after):
        return True
    return not (WORD.match(before) and WORD.match(after))


def random_search(random: Random) -> tuple[str, str, dict[str, bool]]:
    """A text, a literal that likely stands in it, and options of ``places``."""
    few = random.sample(TEXTS, random.randint(1, 5))
    text = "".join(random.choices(few, k=random.randint(1, 12)))
    start = random.randrange(len(text))
    find = text[start : start + random.randint(1, 6)]
    if random.random() < 0.2:
        find = "".join(random.choices(few, k=random.randint(1, 3)))
    find = random.choice([find, find, find, find.upper(), find.lower(), find.swapcase()])
    find = normalize(random.choice(["NFC", "NFD"]), find)
    return (
        text,
        find,
        {
            "case_sensitive": random.random() < 0.5,
            "whole_word": random.random() < 0.4,
            "whole_characters": random.random() < 0.8,
        },
    )
