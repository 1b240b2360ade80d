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
    work: UnitOfWork, public_url: str, project_id: int, places: Sequence[CitedPlace]
) -> list[str | None]:
    """Returns the address of each place: of its table's ``url_template``, or in the console.

    None where neither is known: the deployment has no address where ``public_url`` is empty.
    """
    tables = {place.cite.table_id for place in places}
    templates = work.tables.url_templates(project_id, sorted(tables))
    return [
        _owners_url(templates.get(place.cite.table_id), place)
        or console_url(public_url, place.cite)
        for place in places
    ]


def _owners_url(template: str | None, place: CitedPlace) -> str | None:
    if template is None:
        return None
    cite = place.cite
    return filled(
        template,
        table_id=cite.table_id,
        pointer=place.json_pointer,
        start=cite.start,
        end=cite.end,
        cite=str(cite),
    )


def console_url(public_url: str, cite: Cite) -> str | None:
    """Returns where the console shows a cite; None where nobody has said where it is."""
    return f"{public_url.rstrip('/')}/console#/cite/{cite}" if public_url else None
