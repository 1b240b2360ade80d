"""What a literal matches, said a second time: place by place, as slowly as it reads.

``random_case`` makes texts and requests in which the rules of matching are in each other's way,
``random_executed`` texts before and after edits.
"""

from __future__ import annotations

from random import Random
from unicodedata import category, normalize

import regex

from context_search_editing.rules.edits import Edit, LeftOut, StringEdits
from context_search_editing.rules.replacing import ReplaceRequest

OWN = "ab林😀\u0301"
SHORT = ["a", "b", "ab", "ba", "林", "林林", "😀", "e\u0301", "aaaa", "👩\u200d👧"]
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


def brute_force(text: str, request: ReplaceRequest) -> StringEdits:
    """What a request for a literal does to a text with clusters of at most 64 code points."""
    ends = {0, *(cluster.end() for cluster in CLUSTER.finditer(text))}
    ends |= {at for at in range(1, len(text)) if text[at - 1 : at + 1] == "\r\n"}
    forms = {request.find, normalize("NFC", request.find), normalize("NFD", request.find)}
    edits, inside, equal, at = [], 0, 0, 0
    while at < len(text):
        words = [
            end
            for form in sorted(forms, key=len, reverse=True)
            if is_equal(text[at : (end := at + len(form))], form, request)
            and (not request.whole_word or (is_edge(text, at) and is_edge(text, end)))
        ]
        whole = [
            end for end in words if not request.whole_characters or (at in ends and end in ends)
        ]
        if not whole:
            inside += bool(words)
            at += 1
            continue
        found = text[at : whole[0]]
        if found == request.replace_with:
            equal += 1
        else:
            edits.append(Edit(at, found, request.replace_with))
        at = whole[0]
    return StringEdits(tuple(edits), LeftOut(inside_character=inside, already_equal=equal))


def is_equal(one: str, other: str, request: ReplaceRequest) -> bool:
    if request.case_sensitive or len(one) != len(other):
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


def random_case(random: Random) -> tuple[str, ReplaceRequest]:
    """A text, and a request that likely finds something in it."""
    few = random.sample(TEXTS, random.randint(1, 5))
    text = "".join(random.choices(few, k=random.randint(1, 12)))
    start = random.randrange(len(text))
    find = text[start : start + random.randint(1, 6)]
    if random.random() < 0.2:
        find = "".join(random.choices(few, k=random.randint(1, 3)))
    find = random.choice([find, find, find, find.upper(), find.lower(), find.swapcase()])
    find = normalize(random.choice(["NFC", "NFD"]), find)
    return text, ReplaceRequest(
        find,
        random.choice(["", "x", find, find + find, "$0", "\\1"]),
        case_sensitive=random.random() < 0.5,
        whole_word=random.random() < 0.4,
        whole_characters=random.random() < 0.8,
    )


def random_executed(random: Random) -> tuple[str, list[Edit], str]:
    """Texts of few blocks that repeat; deletions and insertions, also side by side."""
    few = random.sample(OWN, random.randint(1, len(OWN)))
    blocks = ["".join(random.choices(few, k=random.choice([0, 1, 5, 20, 60]))) for _ in range(4)]
    before, after, edits = "", "", []
    for _ in range(random.randint(1, 8)):
        between = "".join(random.choices([*blocks, ""], k=random.randint(0, 3)))
        found, becomes = random.sample([*SHORT, ""], 2)
        if random.random() < 0.3:
            found, becomes = random.choice(SHORT), ""
        edits.append(Edit(len(before) + len(between), found, becomes))
        before += between + found
        after += between + becomes
    end = "".join(random.choices(blocks, k=2))
    return before + end, edits, after + end
