"""Where people open what was cited: in the owner's application, or in the console."""

from __future__ import annotations

from context_search.core.cites import Cite
from context_search.reading.urls import CitedPlace, place_urls
from tests.reading.library import Library


def test_a_table_s_own_address_comes_before_the_console_s(library: Library) -> None:
    pointer = "/a b"
    own, plain, broken = (library.table({"a b": "text"}) for _ in range(3))
    places = [
        CitedPlace(Cite.of(table.id, pointer, 1, 0, "text", 4), pointer)
        for table in (own, plain, broken)
    ]
    project_id = library.project.id
    with library.store.for_all("test") as work:
        template = "https://wiki.example/{table_id}?at={pointer}#{start}-{end}"
        work.tables.set_url_template(own.id, template, project_id=project_id)
        # As plain SQL may have written it.
        work.tables.set_url_template(broken.id, "javascript:{cite}", project_id=project_id)
    with library.store.for_project(project_id) as work:
        in_console = [f"https://search.example/console#/cite/{place.cite}" for place in places]
        owners = f"https://wiki.example/{own.id}?at=%2Fa%20b#0-4"
        shown = place_urls(work, "https://search.example", project_id, places)
        assert shown == [owners, *in_console[1:]]
        assert place_urls(work, "", project_id, places) == [owners, None, None]
        assert place_urls(work, "", project_id + 1, places) == [None] * 3
