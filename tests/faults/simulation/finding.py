"""What a request to replace means, found without the code under test: an independent model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from context_search_editing.rules.replacing import ReplaceRequest

_EITHER = ReplaceRequest("wizards|vow", "$0 and $0", regex=True)
REQUESTS = (
    ReplaceRequest("box", "crate"),
    ReplaceRequest("crate", "box"),
    ReplaceRequest("BOX", "", case_sensitive=False),
    ReplaceRequest("box", "chest", whole_word=True),
    ReplaceRequest("jugs", "jugs, jugs"),
    ReplaceRequest("o", "0"),
    ReplaceRequest("狐狸", "兔子"),
    _EITHER,
)


@dataclass(frozen=True)
class Place:
    """A place of a string that a request changes."""

    start: int
    found: str
    becomes: str


@dataclass(frozen=True)
class ShownHit:
    """A place of a document, under the number that it has in its plan."""

    number: int
    table_id: int
    pointer: str
    place: Place


def places(request: ReplaceRequest, text: str) -> Iterator[Place]:
    """Yields what a request changes in a text, character by character."""
    words = request.find.split("|") if request.regex else [request.find]
    fold = str if request.case_sensitive else str.lower
    at = 0
    while at < len(text):
        found = next((word for word in words if _stands(request, fold(word), fold(text), at)), "")
        if not found:
            at += 1
            continue
        there = text[at : at + len(found)]
        yield Place(at, there, request.replace_with.replace("$0", there))
        at += len(found)


def _stands(request: ReplaceRequest, word: str, text: str, at: int) -> bool:
    if not text.startswith(word, at):
        return False
    around = text[:at][-1:] + text[at + len(word) :][:1]
    is_part = any(each.isascii() and each.isalnum() for each in around)  # no Han character joins
    return not (request.whole_word and is_part)


def strings(value: object, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Yields the strings of a document with their pointers, in order."""
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from strings(each, f"{pointer}/{key}")
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from strings(each, f"{pointer}/{at}")


def texts_of(document: str) -> dict[str, str]:
    """Returns the strings of a JSON text by their pointers."""
    return dict(strings(json.loads(document)))


def shown_by(
    request: ReplaceRequest, scope: str, documents: Iterable[tuple[int, str]]
) -> list[ShownHit]:
    """Returns what a plan has to show of documents, in their order."""
    shown: list[ShownHit] = []
    for table_id, document in documents:
        for pointer, text in strings(json.loads(document)):
            if f"{pointer}/".startswith(f"{scope}/"):
                for place in places(request, text):
                    shown.append(ShownHit(len(shown) + 1, table_id, pointer, place))
    return shown


def spliced(text: str, chosen: Sequence[Place]) -> str | None:
    """Returns a text with places exchanged, from the last to the first; None: they do not fit."""
    for place in sorted(chosen, key=lambda place: -place.start):
        end = place.start + len(place.found)
        if text[place.start : end] != place.found:
            return None
        text = text[: place.start] + place.becomes + text[end:]
    return text


def with_places(
    texts: Mapping[str, str], chosen: Iterable[tuple[str, Place]]
) -> dict[str, str | None]:
    """Returns all strings of a document, those with places exchanged."""
    of: dict[str, list[Place]] = {}
    for pointer, place in chosen:
        of.setdefault(pointer, []).append(place)
    return {
        **texts,
        **{pointer: spliced(texts.get(pointer, ""), each) for pointer, each in of.items()},
    }
