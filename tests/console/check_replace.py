"""Replacing: nothing unseen, what is left out stays, all comes back, no words are lost."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from playwright.sync_api import Dialog, Response, expect

from tests.console.conftest import Watched, api
from tests.e2e.running import Tenant

OLD, NEW = "废弃仓库", "荒废工厂"
CHAPTER = {"text": f"他走进了{OLD}，满地灰尘。", "scenes": [f"{OLD}的门", f"离开{OLD}，回到{OLD}"]}


def previewed(watched: Watched, tenant: Tenant) -> int:
    table = tenant.table(CHAPTER)
    watched.sign_in(tenant.key)
    watched.open(f"/replace?find={quote(OLD)}&by={quote(NEW)}")
    expect(watched.page.locator(".match-row")).to_have_count(4)
    return table


def plans(tenant: Tenant) -> list[dict[str, Any]]:
    """The project's plans, the newest first."""
    listed: list[dict[str, Any]] = api(
        tenant, "GET", f"/api/v1/projects/{tenant.project_id}/replace"
    )["plans"]
    return listed


def content(tenant: Tenant, table: int) -> object:
    return api(tenant, "GET", f"/api/v1/tables/{table}/data")


def test_a_preview_is_executed_without_what_was_left_out_and_taken_back(
    visitor: Watched, own_tenant: Tenant
) -> None:
    table = previewed(visitor, own_tenant)
    page = visitor.page
    assert content(own_tenant, table) == CHAPTER
    assert visitor.axe() == []
    visitor.look("replace-preview")
    page.locator(".match-row input").last.uncheck()
    page.get_by_role("button", name="Replace 3").click()
    expect(page.locator("dialog")).to_contain_text(f"“{OLD}” becomes “{NEW}” in 3 places")
    visitor.look("replace-dialog")
    page.locator("dialog button.primary").click()
    expect(page.locator(".bar.good")).to_contain_text("3 places")
    expect(page.locator(".bar.good h2")).to_be_focused()
    text = str(content(own_tenant, table))
    assert (text.count(OLD), text.count(NEW)) == (1, 3)
    row = page.locator("details tbody tr")
    expect(row).to_contain_text(f"{OLD} → {NEW}done")
    expect(row.locator("td").nth(2)).to_have_text("3")
    row.get_by_role("button", name="Undo").click()
    expect(page.locator("dialog")).to_contain_text("3 places come back")
    page.locator("dialog button.primary").click()
    expect(page.locator(".bar.good")).to_contain_text("taken back")
    expect(page.locator(".bar.good h2")).to_be_focused()
    assert content(own_tenant, table) == CHAPTER
    expect(row).to_have_count(2)
    expect(row.first).to_contain_text(f"{OLD} → {NEW}Undo")
    expect(page.locator("dialog")).to_have_count(0)
    visitor.look("replace-undone")
    assert not visitor.errors


def test_only_the_plan_that_is_shown_waits(visitor: Watched, own_tenant: Tenant) -> None:
    """What was executed stays as it is; what is replaced by another preview, or is empty, ends."""
    table = previewed(visitor, own_tenant)
    page = visitor.page
    visitor.open(f"/replace?find={quote(OLD)}&by=x")
    expect(page.locator(".match-row ins").first).to_have_text("x")
    page.keyboard.press("r")
    expect(page.get_by_role("button", name="Replace 3")).to_be_enabled()
    replaced, *_ = plans(own_tenant)

    def ends_the_empty(response: Response) -> bool:
        return response.request.method == "DELETE" and not response.url.endswith(
            f"/{replaced['plan_id']}"
        )

    with page.expect_response(ends_the_empty) as emptied:
        visitor.open("/replace?find=nowhere&by=x")
        page.get_by_text("Nothing of this").wait_for()
    assert emptied.value.ok
    states = [plan["state"] for plan in plans(own_tenant)]
    assert states == ["cancelled", "cancelled", "done", "cancelled"]
    page.locator("details tbody tr").get_by_role("button", name="Undo").click()
    page.locator("dialog button.primary").click()
    expect(page.locator(".bar.good")).to_contain_text("taken back")
    assert content(own_tenant, table) == CHAPTER


def test_a_reload_asks_while_places_are_left_out(visitor: Watched, own_tenant: Tenant) -> None:
    previewed(visitor, own_tenant)
    page = visitor.page
    box = page.locator(".match-row input").first
    box.uncheck()
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", answer)
    page.reload()
    expect(box).to_be_checked()
    page.reload()
    expect(box).to_be_checked()
    assert asked == ["beforeunload"]


def test_what_has_changed_since_the_preview_is_not_overwritten(
    visitor: Watched, own_tenant: Tenant
) -> None:
    table = previewed(visitor, own_tenant)
    visitor.page.locator(".match-row input").nth(2).uncheck()
    changed = {**CHAPTER, "text": f"{OLD}不见了。"}
    api(own_tenant, "PUT", f"/api/v1/tables/{table}/data", json=changed)
    visitor.page.get_by_role("button", name="Replace 3").click()
    visitor.page.locator("dialog button.primary").click()
    bar = visitor.page.locator(".bar.warn")
    expect(bar).to_contain_text("REPLACE_STALE")
    expect(bar).to_contain_text("/text")
    assert content(own_tenant, table) == changed
    bar.get_by_role("button", name="Preview again").click()
    expect(visitor.page.get_by_role("button", name="Replace 3")).to_be_visible()
    expect(visitor.page.locator(".match-row input").nth(2)).not_to_be_checked()


def test_a_place_that_is_left_out_stays_so_when_its_string_was_edited(
    visitor: Watched, own_tenant: Tenant
) -> None:
    table = previewed(visitor, own_tenant)
    rows = visitor.page.locator(".match-row")
    left = rows.filter(has_text="走进了")
    left.locator("input").uncheck()
    changed = {**CHAPTER, "text": f"傍晚，{CHAPTER['text']}"}
    api(own_tenant, "PUT", f"/api/v1/tables/{table}/data", json=changed)
    visitor.page.get_by_role("button", name="Preview", exact=True).click()
    expect(rows.filter(has_text="傍晚")).to_be_visible()
    expect(left.locator("input")).not_to_be_checked()
    expect(visitor.page.get_by_role("button", name="Replace 3")).to_be_visible()


def test_a_plan_and_what_was_left_out_outlive_a_look_at_a_place(
    visitor: Watched, own_tenant: Tenant
) -> None:
    previewed(visitor, own_tenant)
    page = visitor.page
    boxes = page.locator(".match-row input")
    for at in (1, 2):
        boxes.nth(at).uncheck()
    page.locator(".match-row a").nth(1).click()
    expect(page.locator(".text .hit")).to_have_text(OLD)
    page.go_back()
    expect(page.get_by_role("button", name="Replace 2")).to_be_visible()
    assert [boxes.nth(at).is_checked() for at in range(4)] == [True, False, False, True]
    page.get_by_role("link", name="Documents", exact=True).click()
    page.keyboard.press("Control+h")
    expect(page.get_by_label("Find", exact=True)).to_have_value(OLD)
    expect(page.get_by_role("button", name="Replace 2")).to_be_visible()
    assert sum(url.endswith("/preview") for url in visitor.requests) == 1


def test_only_the_words_that_were_previewed_are_replaced(
    visitor: Watched, own_tenant: Tenant
) -> None:
    table = previewed(visitor, own_tenant)
    page = visitor.page
    execute, by = page.get_by_role("button", name="Replace 4"), page.get_by_label("Replace by")
    expect(execute).to_be_enabled()
    by.fill("别的")
    expect(execute).to_be_disabled()
    page.locator(".match-row input").first.focus()
    page.keyboard.press("r")
    assert content(own_tenant, table) == CHAPTER
    by.fill(NEW)
    expect(execute).to_be_enabled()
    by.fill("别的")
    page.get_by_role("button", name="Preview", exact=True).click()
    expect(page.locator(".match-row ins").first).to_have_text("别的")
    expect(execute).to_be_enabled()
    page.go_back()
    expect(by).to_have_value(NEW)
    expect(page.locator(".match-row ins").first).to_have_text(NEW)


def test_places_are_left_out_with_the_keyboard(visitor: Watched, own_tenant: Tenant) -> None:
    previewed(visitor, own_tenant)
    for key in ("n", "s", "s"):
        visitor.page.keyboard.press(key)
    expect(visitor.page.get_by_role("button", name="Replace 2")).to_be_visible()


def test_one_place_at_a_time_and_what_is_left_out_stays_so(
    visitor: Watched, own_tenant: Tenant
) -> None:
    """The second scene has two places: the first of them is replaced, the other left out."""
    chapter = {"scenes": [f"{OLD}的门", f"离开{OLD}，回到{OLD}"]}
    table = own_tenant.table(chapter)
    visitor.sign_in(own_tenant.key)
    visitor.open(f"/replace?find={quote(OLD)}&by={quote('新' + OLD)}")
    rows, page = visitor.page.locator(".match-row"), visitor.page
    expect(rows).to_have_count(3)
    rows.nth(2).locator("input").uncheck()
    page.keyboard.press("n")
    page.keyboard.press("r")
    expect(page.locator(".bar.good")).to_contain_text("1 place")
    once = {"scenes": [f"{OLD}的门", f"离开新{OLD}，回到{OLD}"]}
    assert content(own_tenant, table) == once
    expect(rows.nth(2).locator("input")).not_to_be_checked()  # has moved by a character
    expect(rows.nth(1).locator("input")).to_be_checked()
    visitor.look("replace-one")
    page.locator(".bar.good").get_by_role("button", name="Undo").click()
    page.locator("dialog button.primary").click()
    expect(page.locator(".bar.good")).to_contain_text("taken back")
    expect(rows.nth(2).locator("input")).not_to_be_checked()
    assert content(own_tenant, table) == chapter


def test_place_by_place_no_key_is_lost_and_no_page_is_read(
    visitor: Watched, own_tenant: Tenant
) -> None:
    table = own_tenant.table({"text": "ab " * 250})
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/replace?find=ab&by=cd")
    for left in (248, 246):
        expect(page.get_by_role("button", name=f"Replace {left + 2}")).to_be_enabled()
        page.evaluate(
            "() => [...'rr'].forEach((key) => dispatchEvent(new KeyboardEvent('keydown', { key })))"
        )
        expect(page.get_by_role("button", name=f"Replace {left}")).to_be_enabled()
    assert str(content(own_tenant, table)).count("cd") == 4
    expect(page.locator(".match-row")).to_have_count(100)
    assert not any("/matches" in url for url in visitor.requests)
    assert not visitor.errors


def test_all_and_none_mean_also_what_is_not_loaded(visitor: Watched, own_tenant: Tenant) -> None:
    table = own_tenant.table({"text": "ab " * 250})
    visitor.sign_in(own_tenant.key)
    visitor.open("/replace?find=ab&by=cd")
    page = visitor.page
    expect(page.locator(".match-row")).to_have_count(100)
    expect(page.get_by_text("100 of 250 shown")).to_be_visible()
    page.locator(".match-row").last.scroll_into_view_if_needed()
    expect(page.get_by_role("button", name="Replace 250")).to_be_in_viewport()
    page.get_by_label("All", exact=True).uncheck()
    expect(page.get_by_text("250 left out by you")).to_be_visible()
    expect(page.get_by_role("button", name="Replace 0")).to_be_disabled()
    for at in (0, 99):
        page.locator(".match-row input").nth(at).check()
    page.get_by_role("button", name="More places").click()
    expect(page.locator(".match-row")).to_have_count(200)
    expect(page.locator(".match-row input").nth(150)).not_to_be_checked()
    page.get_by_role("button", name="Replace 2").click()
    page.locator("dialog button.primary").click()
    expect(page.locator(".bar.good")).to_contain_text("2 places")
    expect(page.get_by_role("button", name="More places")).to_have_count(0)
    visitor.look("replace-done")
    text = str(content(own_tenant, table))
    assert (text.count("ab"), text.count("cd")) == (248, 2)


def test_the_history_is_one_request(visitor: Watched, own_tenant: Tenant) -> None:
    """Its words and its counts are in the list, however many they are."""
    own_tenant.table({"text": "ab cd"})
    path = f"/api/v1/projects/{own_tenant.project_id}/replace"
    for find, becomes in (("ab", "ef"), ("cd", "gh")):
        body = {"find": find, "replace_with": becomes}
        plan = api(own_tenant, "POST", f"{path}/preview", json=body)
        chosen = {"plan_id": plan["plan_id"], "digest": plan["digest"]}
        api(own_tenant, "POST", f"{path}/execute", json=chosen)
    api(own_tenant, "POST", f"{path}/{plan['plan_id']}/undo", json={"on_conflict": "skip"})
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/replace")
    visitor.rests()
    visitor.requests.clear()
    page.get_by_text("History").click()
    rows = page.locator("details tbody tr")
    expect(rows).to_have_count(3)
    words = rows.locator("td:first-child").all_inner_texts()
    assert words == ["cd → gh", "cd → gh", "ab → ef"]
    assert rows.locator("td.num").all_inner_texts() == ["1", "1", "1"]
    visitor.rests()
    assert visitor.requests == [f"{visitor.base_url}{path}"]
    visitor.look("history")
    assert visitor.axe() == []
