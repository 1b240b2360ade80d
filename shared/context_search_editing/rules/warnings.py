"""What is to be known of a replacement before it is executed: a closed list of warnings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import get_args

from context_search.text.plain_text import hidden_character
from context_search.text.sensitive import find_sensitive
from context_search.text.sensitive.kinds import SENSITIVE_KINDS
from context_search_editing.rules.edits import Edit, StringEdits
from context_search_editing.rules.plans import Warning  # noqa: A004 - the word of the API
from context_search_editing.rules.replacing import ReplaceRequest

_MOST_CHARS = 100_000
"""Maximum length of all texts that are looked at for one warning: a pattern may be slow."""
_LONGEST_JSON = 1_000_000
_ASCII_CLASS = re.compile(r"(?<!\\)(?:\\\\)*\\[wWdDsSbB]")


@dataclass(slots=True)
class _Different:
    """Different texts, the first ones."""

    seen: set[str] = field(default_factory=set)
    chars_left: int = _MOST_CHARS

    def new_among(self, texts: Iterable[str]) -> list[str]:
        """Returns those that were not seen before, while they are few; they are seen now."""
        new: list[str] = []
        for text in texts:
            if len(text) <= self.chars_left and text not in self.seen:
                self.seen.add(text)
                self.chars_left -= len(text) + 1
                new.append(text)
        return new


@dataclass(slots=True)
class Warnings:
    """The warnings of one plan, string by string. ``known`` are those of before.

    ``finds`` says whether the request finds anything in one of some texts. Of many different
    texts only the first are looked at: a warning may be missing, none is wrong.
    """

    request: ReplaceRequest
    finds: Callable[[Sequence[str]], bool]
    known: set[Warning] = field(default_factory=set)
    _found: _Different = field(default_factory=_Different)
    _made: _Different = field(default_factory=_Different)
    _unsought: list[str] = field(default_factory=list)

    def in_order(self) -> tuple[Warning, ...]:
        """Returns the warnings so far, as they are always written."""
        every: Sequence[Warning] = get_args(Warning)
        return tuple(warning for warning in every if warning in self.known)

    def look_at_text(self, text: str) -> None:
        r"""``ASCII_CLASSES``: ``\w \d \s \b`` beside text that they pass over."""
        if self.request.regex and not text.isascii() and self._has_class():
            self.known.add("ASCII_CLASSES")

    def look_at(self, before: str, after: str, edits: StringEdits) -> None:
        """Looks at one string, as it is and with all edits done."""
        if edits.left_out.empty:
            self.known.add("EMPTY_MATCHES")
        if any(not edit.becomes for edit in edits.edits):
            self.known.add("DELETES_TEXT")
        if edits.edits and hidden_character(self.request.replace_with, may_have_lines=True):
            self.known.add("HIDDEN_CHARACTERS")
        if "BREAKS_JSON" not in self.known and _is_json(before) and not _is_json(after):
            self.known.add("BREAKS_JSON")
        self._look_at_texts(edits.edits)

    def _look_at_texts(self, edits: Sequence[Edit]) -> None:
        if "LOOKS_SENSITIVE" not in self.known:
            found = self._found.new_among(edit.found for edit in edits)
            if any(find_sensitive(text, SENSITIVE_KINDS) for text in found):
                self.known.add("LOOKS_SENSITIVE")
        if "MATCHES_AGAIN" not in self.known:
            self._unsought += self._made.new_among(edit.becomes for edit in edits)

    def look_at_results(self) -> None:
        """Looks for the request in what it made. Not while it is being looked for elsewhere."""
        made, self._unsought = self._unsought, []
        if made and self.finds(made):
            self.known.add("MATCHES_AGAIN")

    def _has_class(self) -> bool:
        return _ASCII_CLASS.search(self.request.find) is not None


def _is_json(text: str) -> bool:
    """Whether a string is an object or an array in JSON."""
    if len(text) > _LONGEST_JSON or not text[:100].lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return False
    return True
