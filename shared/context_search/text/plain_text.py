"""Invisible characters, which have no place in names that agents and people read.

Models read invisible text in the name or the description of a tool, and people do not see it.
Source: Unicode 16, general category Cc, UAX 9 (bidirectional controls), UTS 51 (tags, emoji), the
property Default_Ignorable_Code_Point, and U+2800, a blank.
"""

from __future__ import annotations

import re

_HIDDEN_IN_TEXT = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # turn the direction of what follows
    "\u00ad\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff0-\ufffb"  # take no room
    "\u034f\u17b4\u17b5\U0001d173-\U0001d17a"  # join, sound and beam, and take no room
    "\U0001bca0-\U0001bca3\U00013430-\U0001343f\U00016fe4"  # order signs of old scripts
    "\u115f\u1160\u3164\uffa0\u2800"  # letters of Hangul that are blank, a Braille pattern
    "\ufe00-\ufe0f\u180b-\u180f\U000e0100-\U000e01ef"  # choose a variant, or carry a byte each
    "\u2028\u2029\ufffe\uffff"  # line separators, noncharacters
    "\U000e0000-\U000e007f"  # tags: ASCII that is not shown
)
_HIDDEN_IN_LINE = f"\t\n\r{_HIDDEN_IN_TEXT}"
_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf"
    "\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_SHOWN = f"[{_EMOJI}][\ufe0e\ufe0f]|[#*0-9]\ufe0f\u20e3"
"""Emoji with the selector that says how they look: their only use of hidden characters."""
TEXT_PATTERN = f"^(?:[^{_HIDDEN_IN_TEXT}]|{_SHOWN})*$"
"""Regular expression of texts without hidden characters, which may have lines and tabs."""
LINE_PATTERN = f"^(?:[^{_HIDDEN_IN_LINE}]|{_SHOWN})*$"
"""Regular expression of texts of one line without hidden characters."""
_IN_LINE = re.compile(f"{_SHOWN}|([{_HIDDEN_IN_LINE}])")
_IN_TEXT_OR_JOINING = re.compile(f"{_SHOWN}|([\u200c\u200d{_HIDDEN_IN_TEXT}])")
_IN_TEXT = re.compile(f"{_SHOWN}|([{_HIDDEN_IN_TEXT}])")


def hidden_character(text: str, *, may_have_lines: bool = False) -> str | None:
    """Returns how the first such character is called (``U+202E``), None when there is none."""
    found = (_IN_TEXT if may_have_lines else _IN_LINE).finditer(text)
    return next((_name(each[1]) for each in found if each[1]), None)


def without_hidden_characters(text: str) -> str:
    """Returns ``text`` without them; lines stay lines."""
    return _IN_TEXT.sub(lambda found: "" if found[1] else found[0], text)


def places_of_hidden_characters(text: str) -> list[int]:
    """Returns where they are, and where those are that join letters without being seen."""
    found = _IN_TEXT_OR_JOINING.finditer(text)
    return [each.start() for each in found if each[1]]


def with_hidden_characters_named(text: str) -> str:
    """Returns ``text`` in one line with a name in the place of each of them.

    >>> with_hidden_characters_named("a" + chr(0x200B))
    'a⟨U+200B⟩'
    """
    return _IN_LINE.sub(lambda found: f"⟨{_name(found[1])}⟩" if found[1] else found[0], text)


def _name(character: str) -> str:
    return f"U+{ord(character):04X}"
