"""What is to be known of a replacement before it is executed: a closed list of warnings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import get_args

from context_search.domain.editing.edits import Edit, StringEdits
from context_search.domain.editing.plans import Warning  # noqa: A004 - the word of the API
from context_search.domain.editing.replacing import ReplaceRequest
from context_search.domain.retrieval import SENSITIVE_KINDS
from context_search.domain.text.sensitive import find_sensitive

_MOST_TEXTS = 200
"""Maximum number of different texts that are looked at for one warning."""
_LONGEST_TEXT = 10_000
_LONGEST_JSON = 1_000_000
_ASCII_CLASS = re.compile(r"(?<!\\)(?:\\\\)*\\[wWdDsSbB]")


@dataclass(slots=True)
class Warnings:
    """The warnings of one plan, string by string. ``known`` are those of before.

    ``finds`` says whether the request finds anything in one of some texts. Of many different
    texts only the first are looked at: a warning may be missing, none is wrong.
    """

    request: ReplaceRequest
    finds: Callable[[Sequence[str]], bool]
    known: set[Warning] = field(default_factory=set)
    _found: set[str] = field(default_factory=set)
    _made: set[str] = field(default_factory=set)

    def in_order(self) -> tuple[Warning, ...]:
        """Returns the warnings so far, as they are always written."""
        every: Sequence[Warning] = get_args(Warning)
        return tuple(warning for warning in every if warning in self.known)

    def look_at_document(self, json_text: str) -> None:
        r"""``ASCII_CLASSES``: ``\w \d \s \b`` beside text that they pass over."""
        if self.request.regex and not json_text.isascii() and self._has_class():
            self.known.add("ASCII_CLASSES")

    def look_at(self, before: str, after: str, edits: StringEdits) -> None:
        """Looks at one string, as it is and with all edits done."""
        if edits.left_out.empty:
            self.known.add("EMPTY_MATCHES")
        if any(not edit.becomes for edit in edits.edits):
            self.known.add("DELETES_TEXT")
        if "BREAKS_JSON" not in self.known and _is_json(before) and not _is_json(after):
            self.known.add("BREAKS_JSON")
        self._look_at_texts(edits.edits)

    def _look_at_texts(self, edits: Sequence[Edit]) -> None:
        if "LOOKS_SENSITIVE" not in self.known:
            found = _new(self._found, (edit.found for edit in edits))
            if any(find_sensitive(text, SENSITIVE_KINDS) for text in found):
                self.known.add("LOOKS_SENSITIVE")
        if "MATCHES_AGAIN" not in self.known:
            made = _new(self._made, (edit.becomes for edit in edits))
            if made and self.finds(made):
                self.known.add("MATCHES_AGAIN")

    def _has_class(self) -> bool:
        return _ASCII_CLASS.search(self.request.find) is not None


def _new(seen: set[str], texts: Iterable[str]) -> list[str]:
    """Returns the texts that were not seen before, while they are few; they are seen now."""
    new: list[str] = []
    for text in texts:
        if len(seen) == _MOST_TEXTS:
            break
        if text and text not in seen and len(text) <= _LONGEST_TEXT:
            seen.add(text)
            new.append(text)
    return new


def _is_json(text: str) -> bool:
    """Whether a string is an object or an array in JSON."""
    if len(text) > _LONGEST_JSON or not text[:100].lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return False
    return True
