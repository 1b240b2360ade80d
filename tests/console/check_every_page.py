"""Every page: accessible, in both languages and themes, on a narrow screen, quiet."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from local.options import ROOT
from tests.console.conftest import LANGUAGES, SESSION, THEMES, Watched
from tests.console.documents import HOSTILE, PLACES
from tests.e2e.running import Tenant

PAGES = sorted(path.stem for path in (ROOT / "console/src/pages").glob("*.tsx"))
QUESTION = quote(next(iter(PLACES)))
ADDRESSES = {"search": f"/search?q={QUESTION}"}
SHOWN = {
    "agents": "table, .empty",
    "cite": ".empty",
    "documents": "tbody tr",
    "evaluate": ".panel",
    "health": "dl.facts",
    "indexes": "tbody tr",
    "keys": "tbody tr",
    "overview": "tbody tr",
    "replace": "form",
    "search": ".text .hit",
    "states": ".bone",
}


def settled(watched: Watched, page: str) -> None:
    """Opens a page and waits until what it asks for is there."""
    watched.open(ADDRESSES.get(page, f"/{page}"))
    expect(watched.page.locator(SHOWN[page]).first).to_be_visible()
    watched.rests()


# Headings of more than two lines, and times of more than one.
_BROKEN = """() => [...document.querySelectorAll('h1, td.dim')].filter(each => {
  const range = document.createRange();
  range.selectNodeContents(each);
  const line = parseFloat(getComputedStyle(each).lineHeight);
  const lines = range.getBoundingClientRect().height / line;
  return !each.matches('.sr') && lines > (each.matches('h1') ? 2.5 : 1.5);
}).map(each => each.textContent)"""
# 1,280 by 800 at 200 %, and two telephones.
SCREENS = ((640, 400), (360, 700), (320, 700))


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_is_accessible_and_fits_every_screen(
    signed_in: Watched, subtests: pytest.Subtests, language: str, theme: str
) -> None:
    signed_in.set(language, theme)
    for page in PAGES:
        with subtests.test(page=page):
            signed_in.page.set_viewport_size({"width": 1280, "height": 800})
            settled(signed_in, page)
            signed_in.look(f"{page}-{language}-{theme}")
            assert signed_in.axe() == []
            for width, height in SCREENS if theme == "light" else ():
                signed_in.page.set_viewport_size({"width": width, "height": height})
                signed_in.rests()
                signed_in.look(f"{page}-{language}-{theme}-{width}")
                assert signed_in.fits(), width
                assert signed_in.page.evaluate(_BROKEN) == [], width
    assert signed_in.errors == []


def test_no_page_holds_a_key_or_sends_one_in_an_address(signed_in: Watched, tenant: Tenant) -> None:
    own = signed_in.page.evaluate(f"JSON.parse(sessionStorage.getItem({SESSION!r})).key")
    leaking = []
    for page in PAGES:
        settled(signed_in, page)
        held = signed_in.page.evaluate(
            "JSON.stringify(localStorage) + document.cookie + document.documentElement.outerHTML"
        )
        leaking += [page for key in (own, tenant.key) if key in held]
    assert leaking == []
    said = [*signed_in.requests, *signed_in.errors]
    assert not [text for text in said if own in text or tenant.key in text]


def test_sign_in_is_accessible(visitor: Watched) -> None:
    visitor.open()
    for language in LANGUAGES:
        for theme in THEMES:
            visitor.set(language, theme)
            assert visitor.axe() == []


def test_nothing_of_a_hostile_document_runs_or_is_fetched(
    signed_in: Watched, stack_origin: Callable[[str], bool]
) -> None:
    signed_in.open(f"/search?q={quote('onerror hacked javascript alert')}")
    expect(signed_in.page.locator(".excerpt").filter(has_text="onerror").first).to_be_visible()
    assert signed_in.page.evaluate("typeof window.hacked") == "undefined"
    assert signed_in.page.locator("main img, main script").count() == 0
    assert HOSTILE in signed_in.page.locator(".text").inner_text()
    assert all(stack_origin(url) for url in signed_in.requests)
    assert not signed_in.errors  # a refusal by the policy would be one


def test_a_search_key_opens_a_smaller_console(visitor: Watched, tenant: Tenant) -> None:
    path = f"/api/v1/projects/{tenant.project_id}/keys"
    made = tenant("POST", path, json={"name": "reader", "scopes": ["search"]}).json()
    visitor.sign_in(made["api_key"])
    names = visitor.page.locator("header nav a").all_inner_texts()
    assert "Search" in names
    assert not {"Documents", "Replace", "Keys"} & set(names)
    visitor.open(f"/search?q={QUESTION}")
    expect(visitor.page.locator(".text .hit").first).to_be_visible()
