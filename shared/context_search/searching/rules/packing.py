"""Fills a budget of tokens with the best parts of texts: hits first, then what stands around them.

Texts are numbered by the caller. Every character is measured about twice, however many hits there
are: once alone, once in the part that it became.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, zip_longest

from context_search.searching.rules.retrieval import DropReason


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters ``start`` to ``end`` (exclusive) of a text."""

    text: int
    start: int
    end: int

    def touches(self, other: Piece) -> bool:
        """Tells whether two pieces overlap or follow each other without a gap."""
        return self.text == other.text and self.start <= other.end and other.start <= self.end


@dataclass(frozen=True, slots=True)
class WantedHit:
    """A hit, and the chunks around it that may join it, the nearest first."""

    id: int
    piece: Piece
    nearby: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class PackedPiece:
    """What is taken of a text in one piece; ``ids`` of the hits in it, best first."""

    piece: Piece
    ids: tuple[int, ...]
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Dropped:
    """A hit without room; ``tokens`` is what it would have added.

    ``over_budget`` is the one that did not fit, ``after_over_budget`` are those behind it.
    """

    id: int
    tokens: int
    reason: DropReason


@dataclass(frozen=True, slots=True)
class Packing:
    """The parts, that with the best hit first, and what had no room."""

    limit: int
    parts: tuple[PackedPiece, ...]
    dropped: tuple[Dropped, ...]

    @property
    def used(self) -> int:
        """Tokens of all parts together, never over the limit."""
        return sum(part.tokens for part in self.parts)


def pack(wanted: Sequence[WantedHit], measure: Callable[[Piece], int], limit: int) -> Packing:
    """Returns the parts that fit into ``limit`` tokens; ``wanted`` is ordered, best first.

    Hits are taken until one does not fit; overlapping and adjacent ones become one part. When all
    hits fit, the pieces around them are taken until one does not fit. ``measure`` gives the tokens
    of a piece.
    """
    measured = cache(measure)
    rank = {hit.id: number for number, hit in enumerate(wanted)}
    room = limit
    while True:
        taken, dropped = _fill(wanted, measured, room)
        parts = [
            PackedPiece(
                part.piece, tuple(sorted(part.ids, key=rank.__getitem__)), measured(part.piece)
            )
            for part in taken
        ]
        packing = Packing(limit, tuple(parts), dropped)
        if packing.used <= limit:
            return packing
        room -= packing.used - limit  # joined text may have more tokens than its pieces


def _fill(
    wanted: Sequence[WantedHit], measure: Callable[[Piece], int], room: int
) -> tuple[list[PackedPiece], tuple[Dropped, ...]]:
    taken: list[PackedPiece] = []
    for number, hit in enumerate(wanted):
        cost = _cost(hit.piece, taken, measure)
        if cost > room:
            return taken, tuple(_dropped(wanted[number:], taken, measure))
        room -= cost
        taken = _joined(taken, PackedPiece(hit.piece, (hit.id,)))
    by_distance = chain.from_iterable(zip_longest(*(hit.nearby for hit in wanted)))
    for piece in by_distance:
        if piece is None:
            continue
        cost = _cost(piece, taken, measure)
        if cost > room:
            break
        room -= cost
        taken = _joined(taken, PackedPiece(piece, ()))
    return taken, ()


def _cost(piece: Piece, taken: Sequence[PackedPiece], measure: Callable[[Piece], int]) -> int:
    return sum(measure(rest) for rest in _uncovered(piece, taken))


def _uncovered(piece: Piece, taken: Sequence[PackedPiece]) -> Iterator[Piece]:
    at = piece.start
    for other in sorted(
        (part.piece for part in taken if part.piece.touches(piece)), key=lambda p: p.start
    ):
        if at < other.start:
            yield Piece(piece.text, at, other.start)
        at = max(at, other.end)
    if at < piece.end:
        yield Piece(piece.text, at, piece.end)


def _joined(taken: Sequence[PackedPiece], new: PackedPiece) -> list[PackedPiece]:
    touching = [part for part in taken if part.piece.touches(new.piece)]
    pieces = [part.piece for part in touching] + [new.piece]
    whole = PackedPiece(
        Piece(
            new.piece.text,
            min(piece.start for piece in pieces),
            max(piece.end for piece in pieces),
        ),
        tuple(chain.from_iterable(part.ids for part in [*touching, new])),
    )
    kept = [part for part in taken if part not in touching]
    kept.insert(taken.index(touching[0]) if touching else len(kept), whole)
    return kept


def _dropped(
    hits: Sequence[WantedHit], taken: Sequence[PackedPiece], measure: Callable[[Piece], int]
) -> Iterator[Dropped]:
    reason: DropReason = "over_budget"
    for hit in hits:
        yield Dropped(hit.id, _cost(hit.piece, taken, measure), reason)
        reason = "after_over_budget"
