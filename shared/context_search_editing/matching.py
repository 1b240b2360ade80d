"""What a request to replace changes in the strings of documents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from context_search.core.documents import FoundString
from context_search.integrations.patterns.ports import CompiledPattern, Patterns
from context_search.text.batches import BATCH_CHARS
from context_search_editing.rules.edits import StringEdits
from context_search_editing.rules.replacing import (
    NOTHING,
    Allowance,
    LiteralReplacer,
    PatternReplacer,
    ReplaceRequest,
)
from context_search_editing.rules.template import Template

REQUEST_TEXT_S = 5.0
"""For how long a request looks through one string for a pattern, in seconds."""
WORKER_TEXT_S = 30.0
"""For how long a worker does."""
_BATCH_STRINGS = 1 << 14
"""Maximum number of strings that are looked through together; each takes 0.1 kB meanwhile."""


class Replacer(Protocol):
    """Handles one request, string by string."""

    def edits_in(self, texts: Sequence[str], allowance: Allowance) -> Iterator[StringEdits]:
        """Yields what the request changes in each text, in their order.

        Raises TooManyMatchesError and ReplaceTooLargeError when ``allowance`` is not enough, and
        what ``CompiledPattern.matches`` raises.
        """
        ...


@contextmanager
def replacer_of(
    request: ReplaceRequest, patterns: Patterns, *, text_timeout_s: float
) -> Iterator[Replacer]:
    """Returns what carries out a request, inside of a ``with`` and in one thread.

    A pattern has ``text_timeout_s`` to be compiled, and for each text. Raises what
    ``Patterns.compiled`` raises, and ReplacementInvalidError.
    """
    if not request.regex:
        yield LiteralReplacer(request)
        return
    with patterns.compiled(
        request.find, case_sensitive=request.case_sensitive, timeout_s=text_timeout_s
    ) as pattern:
        template = Template.read(request.replace_with, groups=pattern.groups, names=pattern.names)
        replacer = PatternReplacer(request, template)
        yield _SearchedPattern(pattern, replacer, template.groups, text_timeout_s)


@dataclass(frozen=True, slots=True)
class _SearchedPattern:
    pattern: CompiledPattern
    replacer: PatternReplacer
    groups: Sequence[int]
    text_timeout_s: float

    def edits_in(self, texts: Sequence[str], allowance: Allowance) -> Iterator[StringEdits]:
        matches = self.pattern.matches(
            texts, groups=self.groups, text_timeout_s=self.text_timeout_s
        )
        return self.replacer.edits_in(texts, matches, allowance)


@dataclass(frozen=True, slots=True)
class EditedString:
    """A string of a document that has edits, or places that were left out.

    ``position`` counts the strings of the document that were looked through, from 0.
    """

    position: int
    json_pointer: str
    text: str
    edits: StringEdits


def edits_of_document(
    strings: Iterator[FoundString], replacer: Replacer, allowance: Allowance
) -> Iterator[EditedString]:
    """Yields those of a document's strings of which there is anything to say, in their order.

    Raises as ``Replacer`` does.
    """
    positions = count()
    for batch in _batches(strings):
        found = replacer.edits_in([string.text for string in batch], allowance)
        for edits, string, position in zip(found, batch, positions, strict=False):
            if edits is NOTHING or edits == NOTHING:
                continue
            allowance = allowance.less(edits)
            yield EditedString(position, string.json_pointer, string.text, edits)


def _batches(strings: Iterator[FoundString]) -> Iterator[list[FoundString]]:
    """Yields neighbours, so that not each string of a document is held for itself."""
    batch: list[FoundString] = []
    chars = 0
    for string in strings:
        batch.append(string)
        chars += len(string.text)
        if chars >= BATCH_CHARS or len(batch) == _BATCH_STRINGS:
            yield batch
            batch, chars = [], 0
    if batch:
        yield batch


def json_pieces(request: ReplaceRequest) -> tuple[str, ...]:
    """Returns pieces of JSON text, of which every document with a match has one.

    As Postgres writes JSON: it and ``json.dumps`` escape the same characters in the same way, each
    by itself. Empty: the text of a document does not tell.
    """
    if request.regex or not request.case_sensitive:
        return ()
    forms = LiteralReplacer(request).literal.forms
    return tuple(sorted(json.dumps(form, ensure_ascii=False)[1:-1] for form in forms))
