"""Judging a passage where it stands in its document: what no search has found, too."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Dialog, Locator, Page, expect

from context_search.core.json_pointer import resolve, split
from tests.console.conftest import LANGUAGES, PLACES, THEMES, Watched, api
from tests.console.documents import novel
from tests.e2e.running import Running, Tenant

COMETS, VIOLIN, WHALE = PLACES
NOT_SAVED = {"en": "exactly · not saved", "zh": "完全回答 · 未保存"}
SAVED = {"en": "exactly · Saved", "zh": "完全回答 · 已保存"}


def kept(tenant: Tenant, name: str) -> dict[str, list[dict[str, Any]]]:
    """Question → what was judged for it, as it is in the project."""
    path = f"/api/v1/projects/{tenant.project_id}/judged-sets/{name}"
    rows = [json.loads(line) for line in api(tenant, "GET", path)["lines"].splitlines()]
    return {row["query"]: row["relevant"] + row.get("others", []) for row in rows}


def keep_theirs(tenant: Tenant) -> None:
    """A set of the project, in which somebody has judged a place for one question."""
    path = f"/api/v1/projects/{tenant.project_id}/judged-sets/theirs"
    place = {"json_pointer": "/books/0/text", "char_start": 0, "char_end": 2}
    line = json.dumps({"query": VIOLIN, "relevant": [place]}) + "\n"
    api(tenant, "PUT", path, json={"lines": line})


def words_of(judgment: dict[str, Any]) -> str:
    text = str(resolve(novel(), split(judgment["json_pointer"])))
    return text[judgment["char_start"] : judgment["char_end"]]


def select(page: Page, words: str) -> None:
    """As a mouse does it, in whichever piece of the text the words stand."""
    page.evaluate(
        "wanted => { const piece = [...document.querySelectorAll('main .piece')]"
        ".map(one => one.firstChild).find(one => one.data.includes(wanted));"
        " const at = piece.data.indexOf(wanted); const range = document.createRange();"
        " range.setStart(piece, at); range.setEnd(piece, at + wanted.length);"
        " getSelection().removeAllRanges(); getSelection().addRange(range); }",
        words,
    )


def opened(visitor: Watched, table: int, question: str) -> Locator:
    """The string that holds the answer; returns the button that opens the dialog."""
    page = visitor.open(f"/documents/{table}?p={quote(PLACES[question][0])}")
    expect(page.locator(".text .piece").first).to_be_visible()
    visitor.rests()  # text rendered anew drops a selection
    return page.locator(".pane button", has_text="…")


@pytest.fixture(scope="module")
def searched(stack: Running) -> tuple[Tenant, int]:
    """A project with an indexed table."""
    tenant = stack.project()
    table = tenant.table(novel())
    tenant.ready(tenant.tool(table, name="search_novel", json_path=""))
    return tenant, table


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_was_not_found_is_judged_in_its_document(
    visitor: Watched, searched: tuple[Tenant, int], language: str
) -> None:
    """Words selected by mouse, behind 🐡; the question is the one that was asked last."""
    own_tenant, table = searched
    page = visitor.sign_in(own_tenant.key)
    visitor.set(language, "light")
    visitor.open(f"/search?q={quote(COMETS)}")
    expect(page.locator(".hitcard").first).to_be_visible()
    opener = opened(visitor, table, COMETS)
    select(page, PLACES[COMETS][1])
    opener.click()
    dialog = page.get_by_role("dialog")
    question = dialog.locator("input[list]")
    expect(question).to_have_value(COMETS)
    expect(dialog).to_contain_text(PLACES[COMETS][1])
    dialog.locator("button[aria-pressed]").last.click()
    status = dialog.get_by_role("status").filter(has_text="·")
    expect(status).to_have_text(NOT_SAVED[language])
    expect(dialog.locator("button[aria-pressed=true]")).to_have_count(1)
    for theme in THEMES:
        page.evaluate("theme => (document.documentElement.dataset.theme = theme)", theme)
        visitor.look(f"judge-place-{language}-{theme}")
        assert visitor.axe() == []
    page.set_viewport_size({"width": 320, "height": 700})
    assert visitor.fits()
    visitor.look(f"judge-place-{language}-320")
    page.set_viewport_size({"width": 1280, "height": 800})
    dialog.locator("input[pattern]").fill(f"first-{language}")
    dialog.get_by_role("button").nth(1).click()
    expect(status).to_have_text(SAVED[language])
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    [judged] = kept(own_tenant, f"first-{language}")[COMETS]
    assert (judged["grade"], words_of(judged)) == (3, PLACES[COMETS][1])
    visitor.look(f"judged-place-{language}")
    # Evaluate has the set open, and counts what was judged.
    visitor.open("/evaluate")
    page.locator("main section button.primary").click()
    expect(page.locator("main")).to_contain_text({"en": "1 of 1 question", "zh": "1 / 1"}[language])
    means = page.locator("tr", has=page.get_by_role("rowheader", name="ndcg@10"))
    expect(means).to_contain_text("1.000")
    assert visitor.errors == []


def test_a_passage_is_judged_by_the_keyboard_alone(visitor: Watched, own_tenant: Tenant) -> None:
    """Found in the text, and so chosen; behind 𠮷. A question is typed, another is taken."""
    table = own_tenant.table(novel())
    page = visitor.sign_in(own_tenant.key)
    opener = opened(visitor, table, WHALE)
    page.get_by_role("searchbox", name="Find in text").focus()
    page.keyboard.type(PLACES[WHALE][1])
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="1 of 1")).to_be_visible()
    opener.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    grades = dialog.locator("button[aria-pressed]")
    expect(grades.first).to_be_disabled()
    dialog.get_by_label("Question").focus()
    page.keyboard.type(WHALE)
    expect(grades.first).to_be_enabled()
    for _ in range(3):
        page.keyboard.press("Tab")
    expect(grades.nth(2)).to_be_focused()
    page.keyboard.press("Space")
    expect(dialog.get_by_role("status").filter(has_text="·")).to_have_text("answers · not saved")
    # Another thought: the grade of the same words is replaced, not added to.
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    expect(dialog.get_by_role("status").filter(has_text="·")).to_have_text("mentions · not saved")
    assert dialog.locator("datalist option").get_attribute("value") == WHALE
    dialog.get_by_label("Name of the set").focus()
    page.keyboard.type("whales")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("status").filter(has_text="·")).to_have_text("mentions · Saved")
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    [judged] = kept(own_tenant, "whales")[WHALE]
    assert (judged["grade"], words_of(judged)) == (1, PLACES[WHALE][1])
    assert visitor.errors == []


def test_a_judgment_that_is_not_saved_is_not_lost(visitor: Watched, own_tenant: Tenant) -> None:
    """It stays when the page is another one; signing out and another set ask first."""
    table = own_tenant.table(novel())
    own_tenant.tool(table, name="search_novel", json_path="")
    keep_theirs(own_tenant)
    page, asked = visitor.sign_in(own_tenant.key), []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    opener = opened(visitor, table, VIOLIN)
    opener.click()
    expect(page.locator(".said")).to_contain_text("Select the exact words")
    select(page, PLACES[VIOLIN][1])
    opener.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Question").fill(VIOLIN)
    dialog.get_by_role("button", name="exactly").click()
    chosen = dialog.get_by_role("combobox", name="Judged set")
    expect(chosen.locator("option")).to_have_count(2)
    chosen.select_option("theirs")
    expect(chosen).to_have_value("")
    expect(dialog.get_by_role("status").filter(has_text="·")).to_have_text("exactly · not saved")
    dialog.get_by_role("button", name="Close").click()
    expect(page.locator(".pane .badge.warn")).to_have_text("not saved")
    page.get_by_role("link", name="Evaluate").click()
    expect(page.locator("main section .badge.warn")).to_have_text("not saved")
    expect(page.locator("main")).to_contain_text("1 question")
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator("h1")).to_have_text("Evaluate")
    assert asked == ["confirm", "confirm"]
    page.get_by_label("Name of the set").fill("mine")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".said")).to_contain_text("Saved")
    [judged] = kept(own_tenant, "mine")[VIOLIN]
    assert words_of(judged) == PLACES[VIOLIN][1]
    # The other set is taken without a question now.
    page.get_by_role("combobox", name="Judged set").select_option("theirs")
    expect(page.get_by_label("Name of the set")).to_have_value("theirs")
    assert asked == ["confirm", "confirm"]
    assert visitor.errors == []


def test_a_judgment_is_deleted_and_a_reload_asks(visitor: Watched, own_tenant: Tenant) -> None:
    table = own_tenant.table(novel())
    keep_theirs(own_tenant)
    page, asked = visitor.sign_in(own_tenant.key), []

    def leave(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", leave)
    opener = opened(visitor, table, VIOLIN)
    select(page, PLACES[VIOLIN][1])
    opener.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("combobox", name="Judged set").select_option("theirs")
    dialog.get_by_label("Question").fill(VIOLIN)
    expect(dialog.locator("li.badge")).to_contain_text("1–2 = 2")
    dialog.get_by_role("button", name="Delete").click()
    expect(dialog.locator("li.badge")).to_have_count(0)
    assert asked == []
    page.reload()
    assert asked == ["beforeunload"]
    assert visitor.errors == []


def test_another_project_does_not_get_the_set_that_is_open(
    visitor: Watched, own_tenant: Tenant, tenant: Tenant
) -> None:
    table = own_tenant.table(novel())
    page = visitor.sign_in(own_tenant.key)
    page.on("dialog", lambda dialog: dialog.accept())
    opener = opened(visitor, table, VIOLIN)
    select(page, PLACES[VIOLIN][1])
    opener.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Question").fill(VIOLIN)
    dialog.get_by_role("button", name="exactly").click()
    dialog.get_by_label("Name of the set").fill("mine")
    dialog.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Sign out").click()
    page.locator("[name=key]").fill(tenant.key)
    page.locator("form button.primary").click()
    page.get_by_role("link", name="Evaluate").click()
    expect(page.get_by_label("Name of the set")).to_have_value("")
    expect(page.locator("main section .badge.warn")).to_have_count(0)
    expect(page.locator("main")).not_to_contain_text(VIOLIN)
    assert visitor.errors == []
