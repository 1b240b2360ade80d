"""What a screen reader says of each view: landmarks, one first heading, a name for each control."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.console.check_every_page import PAGES
from tests.console.conftest import Watched, api
from tests.console.outlines import FRAME, SIGN_IN, VIEWS
from tests.e2e.running import Tenant

CONTROLS = (
    "button|link|textbox|searchbox|combobox|checkbox|switch|slider|treeitem|option|tree|search"
    "|region|navigation|dialog|heading|columnheader"
)
# Role, and its name in quotes if it has one; a line with a colon inside is quoted whole.
LINE = re.compile(rf"""^\s*- '?({CONTROLS})\b(?: "((?:[^"\\]|\\.)*)")?""", re.MULTILINE)
NEEDS_NO_NAME = {"search"}  # The only one of its page.
# What the tenant has named, and codes; the rest is words, which differ between languages.
NO_WORDS = re.compile(
    "search_novel|(?:Library|Letters|Crafts).*|odd|price|context-search|[^a-zA-Z]*|A|B|/.*"
)
NAMED_BY_OTHERS = {"treeitem", "option"}


def opened(watched: Watched, tenant: Tenant, view: str) -> Page:
    """Opens a view and waits for what it shows first."""
    [table] = api(tenant, "GET", "/api/v1/tables")["tables"]
    [tool] = api(tenant, "GET", "/api/v1/tools")["tools"]
    address = view.replace("TABLE", str(table["id"])).replace("TOOL", str(tool["id"]))
    page = watched.open(address)
    expect(page.locator(VIEWS[view][0]).first).to_be_visible()
    return watched.rests()


def test_every_page_has_an_outline() -> None:
    assert {view.split("/")[1].split("?")[0] for view in VIEWS} == set(PAGES)


def test_the_frame_has_landmarks_and_the_way_past_them(signed_in: Watched) -> None:
    page = signed_in.open("/keys")
    expect(page.locator("body")).to_match_aria_snapshot(FRAME)
    assert page.get_by_role("main").count() == page.get_by_role("banner").count() == 1


def test_signing_in_has_an_outline(visitor: Watched) -> None:
    expect(visitor.open().locator("body")).to_match_aria_snapshot(SIGN_IN)


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_has_its_outline_and_each_control_a_name_in_both_languages(
    signed_in: Watched, tenant: Tenant, view: str
) -> None:
    reported: list[list[tuple[str, str]]] = []
    for language in ("zh", "en"):
        signed_in.set(language, "light")
        page = opened(signed_in, tenant, view)
        found = LINE.findall(page.locator("body").aria_snapshot())
        assert found
        assert [role for role, name in found if not name and role not in NEEDS_NO_NAME] == []
        reported.append(found)
    expect(page.get_by_role("main")).to_match_aria_snapshot(VIEWS[view][1])
    assert page.get_by_role("heading", level=1).count() == 1
    chinese, english = reported
    assert [role for role, _ in english] == [role for role, _ in chinese]
    if view == "/states":
        return  # it is named by codes
    same = {name for role, name in {*english} & {*chinese} if role not in NAMED_BY_OTHERS}
    assert sorted(name for name in same if not NO_WORDS.fullmatch(name)) == []
