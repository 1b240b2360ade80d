"""Without a mouse, with large letters, with other people's colours, and by Ctrl K."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.console.check_every_page import settled
from tests.console.conftest import Watched
from tests.console.documents import PLACES
from tests.e2e.running import Running, Tenant

QUERY = next(iter(PLACES))


def tab_to(page: Page, selector: str, most: int = 60) -> None:
    """Presses Tab until what is meant has the focus."""
    for _ in range(most):
        if page.evaluate("chosen => document.activeElement?.matches(chosen)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {selector}")


def test_from_signing_in_to_the_place_in_its_document_by_keyboard(
    visitor: Watched, tenant: Tenant
) -> None:
    page = visitor.open()
    tab_to(page, "[name=key]")
    page.keyboard.insert_text(tenant.key)
    page.keyboard.press("Enter")
    page.locator("nav").wait_for()
    tab_to(page, "nav a[href='#/search']")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.insert_text(QUERY)
    page.keyboard.press("Enter")
    expect(page.locator(".hitcard").first).to_be_visible()
    tab_to(page, ".hitcard .place")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.locator(".text .hit").first).to_be_visible()
    page.keyboard.press("e")
    expect(page.locator(".why")).to_be_visible()
    page.keyboard.press("o")
    expect(page.get_by_role("treeitem", selected=True)).to_be_visible()
    assert "/documents/" in page.url
    expect(page.locator(".text .hit").first).to_be_visible()
    tab_to(page, "[role=treeitem]")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page.get_by_role("treeitem", selected=True)).to_be_focused()
    assert not visitor.errors


def typed_in_palette(page: Page, text: str) -> None:
    page.keyboard.press("Control+k")
    expect(page.locator("dialog input")).to_be_focused()
    page.keyboard.insert_text(text)


def test_a_pointer_a_table_and_a_tool_are_reached_by_the_palette(
    visitor: Watched, own_tenant: Tenant
) -> None:
    table = own_tenant.table({"a": {"x/y": "here"}})
    tool = own_tenant.tool(table, name="search_palette")
    page = visitor.sign_in(own_tenant.key)
    for typed, kind, at in [
        ("/a/x~1y", "pointer in Library", f"/documents/{table}?p=%2Fa%2Fx%7E1y"),
        ("search_pal", "tool", f"/search?tool={tool['tool_id']}"),
    ]:
        typed_in_palette(page, typed)
        expect(page.locator("#palette-list > *").first).to_contain_text(kind)
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(re.escape(at) + "$"))


def test_what_is_beyond_the_first_thousand_is_asked_for(
    visitor: Watched, own_tenant: Tenant
) -> None:
    """The last of 1,003 tables by its name, and its tool."""
    own_tenant.stack.sql(
        "INSERT INTO context_table (project_id, name) "
        "SELECT :project, 'a' || n FROM generate_series(1, 1002) AS n",
        project=own_tenant.project_id,
    )
    last = own_tenant.table({"x": 1})
    own_tenant.stack.sql(
        "UPDATE context_table SET name = 'zz far away' WHERE id = :last", last=last
    )
    own_tenant.tool(last, name="search_far")
    page = visitor.sign_in(own_tenant.key)
    typed_in_palette(page, "far away")
    expect(page.get_by_role("option").filter(has_text="zz far away")).to_be_visible()
    expect(page.get_by_role("option").filter(has_text="search_far")).to_be_visible()


def other(browser: Browser, stack: Running, tenant: Tenant, **options: Any) -> Watched:
    watched = Watched(browser.new_context(locale="en-US", **options).new_page(), stack.base_url)
    watched.sign_in(tenant.key)
    return watched


def test_with_forced_colours_and_without_motion(
    browser: Browser, stack: Running, tenant: Tenant
) -> None:
    watched = other(browser, stack, tenant, forced_colors="active", reduced_motion="reduce")
    settled(watched, "search")
    watched.look("forced-colours")
    moving = watched.page.evaluate(
        "[...document.querySelectorAll('*')].filter(one => {"
        " const style = getComputedStyle(one);"
        " return style.animationName !== 'none' || style.transitionDuration !== '0s'; }).length"
    )
    assert moving == 0
    [mark, ground] = watched.page.evaluate(
        "['.text .match', '.text'].map(chosen => {"
        " const style = getComputedStyle(document.querySelector(chosen));"
        " return style.backgroundColor; })"
    )
    assert mark != ground
    assert watched.axe() == []
    watched.page.context.close()
