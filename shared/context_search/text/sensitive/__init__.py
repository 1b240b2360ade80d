"""Finds what must not be shown in text: keys, addresses, and numbers that name a person or account.

Every search takes time linear in the text, also on text made to hang it. What repeats is bounded,
or possessive (``++`` gives nothing back) and cannot be started again inside the run it took.
Full-width forms count as the ASCII characters they stand for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from context_search.text.plain_text import places_of_hidden_characters
from context_search.text.sensitive.kinds import SENSITIVE_KINDS, SensitiveKind
from context_search.text.sensitive.known_forms import (
    address_secrets,
    known_keys,
    private_keys,
)
from context_search.text.sensitive.named_secrets import named_secrets
from context_search.text.sensitive.personal_data import (
    bank_cards,
    emails,
    ibans,
    id_cards,
    phones,
    ssns,
)
from context_search.text.sensitive.spans import Spans, folded

# A number is of one kind: what stands first takes its digits from those behind.
_NUMBER_KINDS = SENSITIVE_KINDS[2:]


@dataclass(frozen=True, slots=True)
class Sensitive:
    """A part that must not be shown: code points ``start`` to ``end`` (exclusive) of a text."""

    kind: SensitiveKind
    start: int
    end: int


def find_sensitive(text: str, kinds: Collection[SensitiveKind]) -> tuple[Sensitive, ...]:
    """Returns the sensitive parts of ``text`` by position; none of them overlap.

    A text is looked at as it is, and as it is seen: hidden characters may cut a secret in pieces.
    """
    found = _find(text, kinds)
    hidden = places_of_hidden_characters(text)
    if not hidden:
        return united(found)
    begins = [0, *(place + 1 for place in hidden)]
    seen = "".join(text[at:to] for at, to in zip(begins, [*hidden, len(text)], strict=True))
    # How many characters are shown before each hidden one.
    shown = [place - before for before, place in enumerate(hidden)]
    found += [
        Sensitive(
            part.kind,
            part.start + bisect_right(shown, part.start),
            part.end + bisect_right(shown, part.end - 1),
        )
        for part in _find(seen, kinds)
    ]
    return united(found)


def _find(text: str, kinds: Collection[SensitiveKind]) -> list[Sensitive]:
    half_width = folded(text)
    found = [
        Sensitive(kind, start, end)
        for kind in kinds
        if kind not in _NUMBER_KINDS
        for start, end in _FINDERS[kind](half_width)
    ]
    if any(kind in _NUMBER_KINDS for kind in kinds):
        found += [number for number in _numbers(half_width) if number.kind in kinds]
    return found


def united(found: Collection[Sensitive]) -> tuple[Sensitive, ...]:
    """Returns the parts by position, those that overlap as one."""
    whole: list[Sensitive] = []
    for part in sorted(found, key=lambda part: (part.start, part.end)):
        if whole and part.start < whole[-1].end:
            last = whole.pop()
            kind = min(last.kind, part.kind, key=SENSITIVE_KINDS.index)
            whole.append(Sensitive(kind, last.start, max(last.end, part.end)))
        else:
            whole.append(part)
    return tuple(whole)


def _numbers(text: str) -> list[Sensitive]:
    """All kinds, wished for or not: half of a card that may be shown is no telephone number."""
    taken: list[Sensitive] = []
    for kind in _NUMBER_KINDS:
        before = united(taken)
        taken += [
            Sensitive(kind, start, end)
            for start, end in _FINDERS[kind](text)
            if not _is_inside(before, start, end)
        ]
    return taken


def _is_inside(parts: Sequence[Sensitive], start: int, end: int) -> bool:
    place = bisect_right(parts, start, key=lambda part: part.start) - 1
    return place >= 0 and end <= parts[place].end


def _keys(text: str) -> Spans:
    in_addresses = dict(address_secrets(text))
    yield from in_addresses.items()
    yield from private_keys(text)
    yield from known_keys(text)
    # A user called ``token`` names the password too, and seems to name the host with it.
    yield from ((start, end) for start, end in named_secrets(text) if start not in in_addresses)


_FINDERS: Mapping[SensitiveKind, Callable[[str], Spans]] = {
    "key": _keys,
    "email": emails,
    "id_card": id_cards,
    "iban": ibans,
    "bank_card": bank_cards,
    "ssn": ssns,
    "phone": phones,
}
