"""RFC 6901 JSON pointers: split, join, resolve, and the scope relation between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import cast

from context_search.core.errors import InvalidPointerError

# ASCII only: str.isdigit() also accepts other scripts' digits, and int() accepts "1_0". It refuses
# more than 4,300 digits with a ValueError; no array is that long.
_ARRAY_INDEX = re.compile(r"(?:0|[1-9][0-9]{0,18})\Z")
MAX_KEY_CHARACTERS = 160
_BAD_ESCAPE = re.compile(r"~(?![01])")


def split(pointer: str) -> list[str]:
    """Returns the unescaped tokens of ``pointer``; ``""`` (the root) has none, ``"/"`` has one.

    Raises InvalidPointerError when it does not start with ``/`` or has a bad ``~`` escape.
    """
    if pointer == "":
        return []
    if not pointer.startswith("/"):
        raise InvalidPointerError("a JSON pointer is empty or starts with '/'")
    if _BAD_ESCAPE.search(pointer):
        raise InvalidPointerError("'~' in a JSON pointer must be followed by 0 or 1")
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/")]


def escape(token: str) -> str:
    """Returns ``token`` as it stands inside a pointer (RFC 6901 section 3)."""
    return token.replace("~", "~0").replace("/", "~1")


def join(tokens: Iterable[str]) -> str:
    """Returns the pointer of ``tokens``; the inverse of ``split``."""
    return "".join("/" + escape(token) for token in tokens)


def contains(scope: str, pointer: str) -> bool:
    """Tells whether ``pointer`` is ``scope`` or below it: ``/a`` contains ``/a/b``, not ``/ab``.

    >>> contains("/a", "/a/b"), contains("/a", "/ab"), contains("", "/x")
    (True, False, True)
    """
    return pointer == scope or pointer.startswith(scope + "/")


def document_order(pointer: str) -> list[tuple[int, str]]:
    """Returns what sorts pointers as their values stand in a document that Postgres keeps.

    Elements stand by number. Members of an object stand as ``jsonb`` has them, whatever the order
    in which they were sent: shorter keys first (in bytes of UTF-8), equally long ones by bytes.

    >>> sorted(["/rows/10", "/rows/9", "/b"], key=document_order)
    ['/b', '/rows/9', '/rows/10']
    """
    return [(len(token.encode()), token) for token in split(pointer)]


def relative(scope: str, pointer: str) -> str:
    """Returns ``pointer`` as seen from ``scope``; ``""`` when they are equal.

    >>> relative("/articles", "/articles/0/content")
    '/0/content'
    """
    if not contains(scope, pointer):
        raise InvalidPointerError("the pointer is outside of the scope")
    return pointer[len(scope) :]


def ancestors(pointer: str) -> list[str]:
    """Returns every pointer that contains ``pointer``, from the root to itself.

    >>> ancestors("/a/0")
    ['', '/a', '/a/0']
    """
    tokens = pointer.split("/")
    return ["/".join(tokens[: count + 1]) for count in range(len(tokens))]


def last_keys(pointer: str) -> list[str]:
    """Returns the last two keys of a pointer, outermost first, that are no index of an array.

    Each is cut to ``MAX_KEY_CHARACTERS``.

    >>> last_keys("/licences/Apache-2.0/parts/0"), last_keys("/rows/7")
    (['Apache-2.0', 'parts'], ['rows'])
    """
    keys = [key for key in split(pointer) if not _ARRAY_INDEX.match(key)]
    return [key[:MAX_KEY_CHARACTERS] for key in keys[-2:]]


def resolve(document: object, tokens: Sequence[str]) -> object:
    """Returns the value that ``tokens`` lead to.

    Array indexes must be canonical: ``-1``, ``00``, ``+0`` and other scripts' digits lead nowhere.
    Raises KeyError when the path leads nowhere.
    """
    value = document
    for token in tokens:
        if isinstance(value, dict):
            value = value[token]
        elif isinstance(value, list) and _ARRAY_INDEX.match(token) and int(token) < len(value):
            value = value[int(token)]
        else:
            raise KeyError(token)
    return value


def replace_value(document: object, tokens: Sequence[str], value: object) -> object:
    """Puts ``value`` where ``tokens`` lead, which must exist, be a new key of an object, or ``-``.

    ``-`` is the place behind the last element of an array (RFC 6901, section 4).
    Changes ``document`` in place and returns it; without tokens it returns ``value``.
    Raises KeyError when the path leads nowhere.
    """
    if not tokens:
        return value
    parent = resolve(document, tokens[:-1])
    if isinstance(parent, dict):
        parent[tokens[-1]] = value
    elif isinstance(parent, list) and tokens[-1] == "-":
        parent.append(value)
    else:
        resolve(parent, tokens[-1:])
        cast(list[object], parent)[int(tokens[-1])] = value
    return document


def remove_value(document: object, tokens: Sequence[str]) -> object:
    """Takes out the member or the element that ``tokens`` lead to; those behind it move up.

    Changes ``document`` in place and returns it. Raises KeyError when the path leads nowhere, and
    for the whole document.
    """
    if not tokens:
        raise KeyError
    parent = resolve(document, tokens[:-1])
    resolve(parent, tokens[-1:])
    if isinstance(parent, dict):
        del parent[tokens[-1]]
    else:
        del cast(list[object], parent)[int(tokens[-1])]
    return document
