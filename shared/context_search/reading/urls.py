"""Addresses of places for people: what agents and programs link to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from context_search.core.cites import Cite
from context_search.store import UnitOfWork


class CitedPlace(NamedTuple):
    """A cite, and the pointer of the string that it is of."""

    cite: Cite
    json_pointer: str


def place_urls(
    work: UnitOfWork, public_url: str, project_id: int, places: Sequence[CitedPlace]
) -> list[str | None]:
    """Returns the address of each place: in the console, which knows every cite.

    None where the deployment does not know its own address (``public_url`` is empty).
    """
    del work, project_id
    return [console_url(public_url, place.cite) for place in places]


def console_url(public_url: str, cite: Cite) -> str | None:
    """Returns where the console shows a cite; None where nobody has said where it is."""
    return f"{public_url.rstrip('/')}/console#/cite/{cite}" if public_url else None
