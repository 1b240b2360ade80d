"""Lists of an index's strings: those that were given up are tried again, pages go on."""

from __future__ import annotations

import re

from playwright.sync_api import Route, expect

from tests.builders import until
from tests.console.conftest import Watched, api
from tests.console.documents import ARTICLE
from tests.e2e.running import Tenant


def give_up(tenant: Tenant, *tables: int) -> None:
    """Puts every string of the tables into quarantine, as after eight refusals of the model."""
    tenant.stack.sql(
        "UPDATE node SET state = 'quarantined', attempt = 8, last_error = jsonb_build_object("
        "'code', 'EMBEDDING_REJECTED', 'message', 'the provider refuses it', 'retryable', false,"
        " 'at', now()) WHERE table_id = ANY(:tables)",
        tables=list(tables),
    )


def test_given_up_strings_are_tried_again(visitor: Watched, own_tenant: Tenant) -> None:
    table = own_tenant.table(ARTICLE)
    tool = own_tenant.tool(table, name="search_melons", json_path="")
    own_tenant.ready(tool)
    give_up(own_tenant, table)
    page = visitor.sign_in(own_tenant.key)
    visitor.open(f"/indexes/{tool['tool_id']}")
    row = page.locator("tr", has_text="/articles/0/content")
    expect(row).to_contain_text("EMBEDDING_REJECTED")
    expect(row).to_contain_text("you")
    visitor.look("indexes-quarantined")
    assert visitor.axe() == []
    row.get_by_role("button", name="Try again").click()
    expect(page.locator(".said")).to_contain_text("1 string is on the way again")
    expect(page.locator("main")).to_contain_text("ready")


def test_strings_of_the_projects_own_index_are_tried_again(
    visitor: Watched, own_tenant: Tenant
) -> None:
    """They name their tables: two have one pointer."""
    tables = [own_tenant.table(ARTICLE) for _ in range(2)]
    path = f"/api/v1/projects/{own_tenant.project_id}/search-index"
    api(own_tenant, "POST", path)
    until(lambda: api(own_tenant, "GET", path)["status"] == "ready" or None, 120)
    give_up(own_tenant, *tables)
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/indexes/project")
    rows = page.locator("tr", has_text="/articles/0/content")
    expect(rows).to_have_count(2)
    for row in rows.all():
        expect(row).to_contain_text("Library")
        expect(row).to_contain_text("EMBEDDING_REJECTED")
    visitor.look("project-strings")
    assert visitor.axe() == []
    rows.first.get_by_role("button", name="Try again").click()
    expect(page.locator(".said")).to_contain_text("1 string is on the way again")
    page.get_by_role("button", name=re.compile("Try all")).click()
    expect(page.locator("main")).to_contain_text("ready")
    assert api(own_tenant, "GET", path)["nodes"].get("quarantined", 0) == 0
    assert not visitor.errors


def test_a_page_of_strings_that_is_empty_is_not_the_end(signed_in: Watched, tenant: Tenant) -> None:
    """A deleted table's strings fill pages that show nothing: what is behind them is read."""
    [tool] = api(tenant, "GET", "/api/v1/tools")["tools"]
    most = 2

    def empty(route: Route) -> None:
        number = int(route.request.url.partition("&cursor=")[2].partition(".")[0] or 0)
        if number == most:
            route.continue_(url=route.request.url.partition("&cursor")[0])
        else:
            body = {"most_attempts": 8, "nodes": [], "cursor": f"{number + 1}.YQ"}
            route.fulfill(json=body)

    def cursors(state: str) -> set[str]:
        asked = [url for url in signed_in.requests if "/nodes?" in url and state in url]
        return {url.partition("cursor=")[2] for url in asked}

    page = signed_in.page
    page.route("**/search-index/nodes?*", empty)
    signed_in.open(f"/indexes/{tool['id']}")
    expect(page.locator("tr", has_text="/books/0/text")).to_be_visible()
    assert cursors("") == {"", "1.YQ", "2.YQ"}
    # Where there is no end of them, it says so, and asks no more by itself.
    most = 1_000
    page.get_by_label("State").select_option("queued")
    expect(page.get_by_text("Only the first 0 are shown.")).to_be_visible()
    assert cursors("state=queued") == {"", *(f"{number}.YQ" for number in range(1, 20))}
    expect(page.get_by_role("button", name="More")).to_be_visible()
    expect(page.get_by_text("No string is in this state.")).to_have_count(0)
    assert not signed_in.errors
