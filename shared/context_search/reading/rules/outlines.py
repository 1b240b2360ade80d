"""The children of a place that have something to read, as an index or a document lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from context_search.core.documents import strings_at
from context_search.core.model import SearchTool
from context_search.reading.rules.visible_strings import VisibleInDocument

Kind = Literal["object", "array", "string"]
"""Kind of a JSON value that has strings."""


class SeenChild(NamedTuple):
    """A child of a place with visible strings at or below it.

    ``token``: its key as it stands in a pointer. ``children``: how many children of its own have
    visible strings. ``length``: characters of a visible string; None of others. ``names_itself``: a
    visible string is its member, so its member ``title`` passes every ``where``, too.
    """

    token: str
    strings: int
    children: int
    length: int | None
    names_itself: bool


@dataclass(frozen=True, slots=True)
class SeenPlace:
    """A place with visible strings, and a page of its children in document order.

    ``strings``: at or below it. ``children``: how many there are. ``length``: characters, where the
    place is a string itself. ``page``: those behind the first ``after`` children.
    """

    strings: int
    children: int
    length: int | None
    names_itself: bool
    page: Sequence[SeenChild]


@dataclass(frozen=True, slots=True)
class SeenOutline:
    """A place of a table at a revision; ``place`` None: nothing of it is visible.

    ``is_known`` false: the index does not know this revision yet; the document says what there is.
    """

    revision: int
    is_known: bool
    place: SeenPlace | None


class Described(NamedTuple):
    """What a document says of a value: its kind, and the beginning of its title or name."""

    kind: Kind
    title: str | None


@dataclass(frozen=True, slots=True)
class DescribedPlace:
    """A place of a document at a revision, and some of its children."""

    revision: int
    place: Described
    children: Sequence[Described]


@dataclass(frozen=True, slots=True)
class Collection:
    """A Search Tool with the name that agents call it by, and the number of its strings.

    ``strings`` None: the number is not known.
    """

    name: str
    tool: SearchTool
    strings: int | None


@dataclass(frozen=True, slots=True)
class Collections:
    """A page of collections, and the id of the tool to go on after."""

    rows: Sequence[Collection]
    next_after: int | None


@dataclass(frozen=True, slots=True)
class OutlinedPlace:
    """A place with something to read.

    ``length``: characters of a string; of others, how many children have something to read.
    ``strings``: how many can be read at or below it.
    """

    key: str
    pointer: str
    type: Kind
    title: str | None
    length: int
    strings: int


@dataclass(frozen=True, slots=True)
class OutlinedCollection:
    """A place of a collection with a page of its children, those behind the first ``after``."""

    collection: str
    table_id: int
    place: OutlinedPlace
    after: int
    children: Sequence[OutlinedPlace]


@dataclass(slots=True)
class _Counted:
    strings: int = 0
    length: int | None = None
    inside: set[str] = field(default_factory=set)
    names_itself: bool = False


def seen_in_document(
    visible: VisibleInDocument, pointer: str, *, after: int, limit: int
) -> SeenPlace | None:
    """Returns a place of a document with a page of its children; None without visible strings."""
    counted: dict[str, _Counted] = {}
    for string in strings_at(visible.document, [pointer]):
        at = string.json_pointer
        if not visible.shows(at, string.text):
            continue
        if at == pointer:
            return SeenPlace(1, 0, len(string.text), names_itself=False, page=[])
        token, *inner = at[len(pointer) + 1 :].split("/", 2)
        child = counted.setdefault(token, _Counted())
        child.strings += 1
        if not inner:
            child.length = len(string.text)
        else:
            child.inside.add(inner[0])
            child.names_itself |= len(inner) == 1
    if not counted:
        return None
    children = [
        SeenChild(token, each.strings, len(each.inside), each.length, each.names_itself)
        for token, each in counted.items()
    ]
    strings = sum(child.strings for child in children)
    names_itself = any(child.length is not None for child in children)
    page = children[after : after + limit]
    return SeenPlace(strings, len(children), None, names_itself, page)


def described_in(value: object, *, chars: int) -> Described:
    """Returns the kind of a parsed value, and the beginning of its title as Postgres finds it."""
    if isinstance(value, dict):
        texts = [value.get(key) for key in ("title", "name")]
        title = next((text for text in texts if isinstance(text, str) and text), None)
        return Described("object", title[:chars] if title else None)
    return Described("array" if isinstance(value, list) else "string", None)
