"""Characters that nobody sees, and that have no place in names which agents and people read.

Invisible text in the name or the description of a tool is read by models and by nobody else.
Source: Unicode 16, general category Cc and UAX 9 (bidirectional controls), UTS 51 (tags).
"""

from __future__ import annotations

import re

HIDDEN_IN_TEXT = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # turn the direction of what follows
    "\u00ad\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff0-\ufffb"  # take no room
    "\u3164\uffa0"  # letters of Hangul that are blank
    "\u2028\u2029\ufffe\uffff"  # line separators, noncharacters
    "\U000e0000-\U000e007f"  # tags: ASCII that is not shown
)
"""Body of a regular expression's character class for hidden characters, except lines and tabs."""
HIDDEN_IN_LINE = f"\t\n\r{HIDDEN_IN_TEXT}"
"""Body of a character class for hidden characters, lines and tabs included."""
_IN_LINE = re.compile(f"[{HIDDEN_IN_LINE}]")
_IN_TEXT = re.compile(f"[{HIDDEN_IN_TEXT}]")


def hidden_character(text: str, *, may_have_lines: bool = False) -> str | None:
    """Returns how the first such character is called (``U+202E``), None when there is none."""
    found = (_IN_TEXT if may_have_lines else _IN_LINE).search(text)
    return None if found is None else f"U+{ord(found[0]):04X}"


def without_hidden_characters(text: str) -> str:
    """Returns ``text`` without them; lines stay lines."""
    return _IN_TEXT.sub("", text)
