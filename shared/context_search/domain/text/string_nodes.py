"""Which strings of a document are nodes, and where they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from context_search.domain.documents import StringNode
from context_search.domain.json_pointer import escape, resolve, split


def string_nodes(document: object, *, scope: str, threshold: int) -> Iterator[StringNode]:
    """Yields the strings of at least ``threshold`` code points in ``scope``, in document order.

    Walks without recursion. A scope that leads nowhere has no strings.
    """
    try:
        root = resolve(document, split(scope))
    except KeyError:
        return
    waiting: list[tuple[_Around | None, str | int, object]] = [(None, scope, root)]
    while waiting:
        around, token, value = waiting.pop()
        if isinstance(value, str):
            if len(value) >= threshold:
                yield StringNode(_pointer(around, token), value)
        elif isinstance(value, dict):
            inside = _Around(around, token)
            waiting.extend((inside, escape(key), value[key]) for key in reversed(value))
        elif isinstance(value, list):
            inside = _Around(around, token)
            waiting.extend((inside, at, value[at]) for at in range(len(value) - 1, -1, -1))


@dataclass(slots=True)
class _Around:
    """An object or array with strings below it. Its pointer is made when one of them is yielded.

    A key of 5 MB stands in the pointer of everything below it.
    """

    around: _Around | None
    token: str | int
    made: str | None = None

    def pointer(self) -> str:
        if self.made is None:
            at, tokens = self, []
            while at.made is None and at.around is not None:
                tokens.append(str(at.token))
                at = at.around
            start = str(at.token) if at.made is None else at.made
            self.made = "/".join([start, *reversed(tokens)])
        return self.made


def _pointer(around: _Around | None, token: str | int) -> str:
    return str(token) if around is None else f"{around.pointer()}/{token}"
