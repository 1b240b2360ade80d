<<<<<<< HEAD
"""Addresses of places: the owner's template first, then the console, then none."""

from __future__ import annotations

import pytest

=======
"""Where people open what was cited: in the owner's application, or in the console."""

from __future__ import annotations

>>>>>>> main
from context_search.core.cites import Cite
from context_search.reading.urls import CitedPlace, place_urls
from tests.reading.library import Library

<<<<<<< HEAD
CONSOLE = "https://search.example"
TEMPLATE = "https://docs.example/{table_id}?at={pointer}#{start}-{end}"


def urls(library: Library, public_url: str, *table_ids: int, pointer: str) -> list[str | None]:
    places = [
        CitedPlace(Cite.of(table_id, pointer, 1, 3, None, 9), pointer) for table_id in table_ids
    ]
    with library.store.for_project(library.project.id) as work:
        return place_urls(work, public_url, library.project.id, places)


def test_the_template_of_a_table_comes_before_the_console(library: Library) -> None:
    plain, own = library.table({}), library.table({})
    library.bench.work.tables.set_url_template(own.id, TEMPLATE, project_id=library.project.id)
    found = urls(library, CONSOLE, plain.id, own.id, pointer="/a b/0")
    cite = Cite.of(plain.id, "/a b/0", 1, 3, None, 9)
    assert found == [
        f"{CONSOLE}/console#/cite/{cite}",
        f"https://docs.example/{own.id}?at=%2Fa%20b%2F0#3-9",
    ]
    assert urls(library, "", plain.id, pointer="/a") == [None]
    [long] = urls(library, CONSOLE, own.id, pointer="/" + "k" * 9_000)
    assert long is not None
    assert long.startswith(CONSOLE)


@pytest.mark.parametrize("template", ["javascript:alert(1)", "https://{pointer}.example/"])
def test_what_is_no_template_is_not_followed(library: Library, template: str) -> None:
    table = library.table({})
    library.bench.work.tables.set_url_template(table.id, template, project_id=library.project.id)
    assert urls(library, "", table.id, pointer="/a") == [None]


def test_a_foreign_table_has_no_template_here(library: Library) -> None:
    other = Library(library.bench)
    table = other.table({})
    library.bench.work.tables.set_url_template(table.id, TEMPLATE, project_id=other.project.id)
    assert urls(library, "", table.id, pointer="/a") == [None]
=======

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
>>>>>>> main
