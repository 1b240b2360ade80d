"""Addresses of places for people: what agents and programs link to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from context_search.catalog.rules.url_template import filled
from context_search.core.cites import Cite
from context_search.store import UnitOfWork


class CitedPlace(NamedTuple):
    """A cite, and the pointer of the string that it is of."""

    cite: Cite
    json_pointer: str


def place_urls(
    work: UnitOfWork, public_url: str | None, project_id: int, places: Sequence[CitedPlace]
) -> list[str | None]:
    """Returns the address of each place: in the application of its owner, else in the console.

    None where the table has no template and the deployment does not know its own address.
    """
    templates: dict[int, str | None] = {}
    for table_id in sorted({place.cite.table_id for place in places}):
        table = work.tables.find(table_id, project_id=project_id)
        templates[table_id] = None if table is None else table.url_template
    return [
        _filled(templates[place.cite.table_id], place) or console_url(public_url, place.cite)
        for place in places
    ]


def _filled(template: str | None, place: CitedPlace) -> str | None:
    cite = place.cite
    return template and filled(
        template,
        table_id=cite.table_id,
        pointer=place.json_pointer,
        start=cite.start,
        end=cite.end,
        cite=str(cite),
    )


def console_url(public_url: str | None, cite: Cite) -> str | None:
    """Returns where the console shows a cite; None where nobody has said where it is."""
    return f"{public_url.rstrip('/')}/console#/cite/{cite}" if public_url else None
