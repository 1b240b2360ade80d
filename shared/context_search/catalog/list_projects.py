"""The projects of a deployment, for its operators."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.catalog.rules.projects import ListedProject
from context_search.core.pages import Page, page_of
from context_search.store import Store

LISTED_PROJECTS = 50
"""Number of projects on a page. The tables and tools of each are counted."""


@dataclass(frozen=True, slots=True)
class ListProjects:
    """Lists projects by id. Costs the page."""

    store: Store

    def page(self, *, after: int) -> Page[ListedProject]:
        """Returns a page of the projects that are there."""
        with self.store.for_all("list the projects") as work:
            rows = work.projects.page(after=after, limit=LISTED_PROJECTS + 1)
        return page_of(rows, lambda listed: listed.project_id, LISTED_PROJECTS)
