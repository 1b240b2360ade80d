"""Documents: outline, windows, editing what nobody else has changed, versions."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Dialog, Route, expect

from tests.builders import chinese, english, until
from tests.console.conftest import LANGUAGES, Watched, api
from tests.console.documents import HOSTILE_TEXT
from tests.e2e.running import Running, Tenant


def opened(watched: Watched, tenant: Tenant, data: object, pointer: str = "") -> int:
    table = tenant.table(data)
    watched.sign_in(tenant.key)
    watched.open(f"/documents/{table}?p={quote(pointer)}")
    return table


def test_the_tree_is_walked_with_the_keyboard(visitor: Watched, own_tenant: Tenant) -> None:
    opened(visitor, own_tenant, {"a": {"": "empty key", "x/y~z": {"deep": "found"}}, "b": [1, 2]})
    page = visitor.page
    expect(page.get_by_role("treeitem").first).to_be_visible()
    page.get_by_role("treeitem").first.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
        if key == "ArrowRight":
            expect(page.locator("[role=treeitem]:focus")).to_have_attribute("aria-expanded", "true")
            expect(page.get_by_role("treeitem", level=2).first).to_be_visible()
    expect(page.get_by_role("treeitem", level=3)).to_contain_text("deep")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".text")).to_have_text("found")
    assert "p=%2Fa%2Fx%7E1y%7E0z%2Fdeep" in page.url
    assert visitor.axe() == []
    visitor.look("tree")


def test_ten_thousand_children_come_in_pages(visitor: Watched, own_tenant: Tenant) -> None:
    opened(visitor, own_tenant, [f"string {number}" for number in range(10_000)])
    items = visitor.page.get_by_role("treeitem")
    expect(items).to_have_count(200)
    visitor.page.locator(".tree button").click()
    expect(items).to_have_count(400)


def test_numbers_beside_an_edit_keep_their_digits(visitor: Watched, own_tenant: Tenant) -> None:
    text = '{"id": 9223372036854775807, "price": 1.10, "name": "old"}'
    table = opened(visitor, own_tenant, {"x": 1})
    path = f"/api/v1/tables/{table}/data"
    headers = {"content-type": "application/json"}
    authorized = headers | {"authorization": f"Bearer {own_tenant.key}"}
    own_tenant.stack.http.put(path, content=text, headers=authorized).raise_for_status()
    visitor.page.reload()
    visitor.page.get_by_role("button", name="Edit").click()
    field = visitor.page.get_by_role("textbox", name="Value as JSON")
    assert "9223372036854775807" in field.input_value()
    assert "1.10" in field.input_value()
    field.fill(field.input_value().replace("old", "new"))
    visitor.page.get_by_role("button", name="Save").click()
    expect(visitor.page.get_by_role("button", name="Edit")).to_be_visible()
    kept = own_tenant("GET", path).text
    assert "9223372036854775807" in kept
    assert "1.10" in kept
    assert '"new"' in kept


def test_who_was_slower_sees_both_and_loses_nothing(visitor: Watched, own_tenant: Tenant) -> None:
    table = opened(visitor, own_tenant, {"text": "before"}, "/text")
    page = visitor.page
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Text").fill("mine")
    api(
        own_tenant,
        "PUT",
        f"/api/v1/tables/{table}/data",
        params={"pointer": "/text"},
        json="theirs",
    )
    page.get_by_role("button", name="Save").click()
    expect(page.locator("pre ins")).to_have_text("theirs")
    expect(page.locator("pre del")).to_have_text("before")
    expect(page.get_by_role("button", name="Save mine over it")).to_be_in_viewport()
    expect(page.get_by_role("textbox", name="Text")).to_have_value("mine")
    assert api(own_tenant, "GET", f"/api/v1/tables/{table}/data") == {"text": "theirs"}
    visitor.look("conflict")
    page.get_by_role("button", name="Save mine over it").click()
    expect(page.locator(".text")).to_have_text("mine")


def test_writing_goes_on_where_it_was_when_the_view_is_shown_anew(
    visitor: Watched, own_tenant: Tenant
) -> None:
    opened(visitor, own_tenant, {"text": "before"}, "/text")
    page, field = visitor.page, visitor.page.get_by_role("textbox", name="Text")
    edit, said = page.get_by_role("button", name="Edit"), page.locator(".said.on")
    edit.click()
    field.fill("first")
    page.get_by_role("button", name="Save").click()
    expect(said).to_be_visible()
    edit.click()
    field.fill("second")
    field.press("Home")
    expect(said).to_have_count(0)
    page.keyboard.type("the ")
    expect(field).to_have_value("the second")


def test_a_change_of_another_part_is_no_conflict(visitor: Watched, own_tenant: Tenant) -> None:
    table = opened(visitor, own_tenant, {"text": "before", "other": 1}, "/text")
    page = visitor.page
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Text").fill("mine")
    path = f"/api/v1/tables/{table}/data"
    api(own_tenant, "PUT", path, params={"pointer": "/other"}, json=2)
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".text")).to_have_text("mine")
    assert api(own_tenant, "GET", path) == {"text": "mine", "other": 2}


def test_unsaved_writing_is_dropped_only_after_a_question(
    visitor: Watched, own_tenant: Tenant
) -> None:
    opened(visitor, own_tenant, {"text": "before", "other": "else"}, "/text")
    page, answers = visitor.page, iter([False, False, False, True])
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.type)
        (dialog.accept if next(answers) else dialog.dismiss)()

    page.on("dialog", answer)
    field = page.get_by_role("textbox", name="Text")
    page.get_by_role("button", name="Edit").click()
    expect(field).to_be_focused()
    field.fill("an hour of writing")
    address = page.url
    page.get_by_role("treeitem").filter(has_text="other").click()
    page.evaluate("history.back()")
    page.wait_for_url(address)
    page.get_by_role("button", name="Cancel").click()
    expect(field).to_have_value("an hour of writing")
    assert (len(asked), page.url) == (3, address)
    page.get_by_role("treeitem").filter(has_text="other").click()
    expect(page.locator(".text")).to_have_text("else")
    page.get_by_role("treeitem").filter(has_text="text").click()
    expect(page.locator(".text")).to_have_text("before")
    page.get_by_role("button", name="Edit").click()
    expect(field).to_have_value("before")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Edit")).to_be_focused()
    assert asked == ["confirm"] * 4


def test_an_opened_string_is_seen_in_the_tree_also_when_its_parents_come_last(
    visitor: Watched, own_tenant: Tenant
) -> None:
    keys = [f"key {number:03}" for number in range(150)]
    table = own_tenant.table(dict.fromkeys(keys, 0) | {"notes": dict.fromkeys(keys, "text")})
    page = visitor.sign_in(own_tenant.key)
    held: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.post_data_json["json_pointer"]:
            route.continue_()
        else:
            held.append(route)

    page.route("**/outline", hold)
    with page.expect_response("**/outline"):
        visitor.open(f"/documents/{table}?p=/notes/key%20140")
    for route in held:
        route.continue_()
    row = page.get_by_role("treeitem", selected=True)
    expect(row).to_have_attribute("data-pointer", "/notes/key 140")
    expect(row).to_be_in_viewport()
    visitor.look("tree-opened")


def test_a_reload_asks_and_a_new_version_keeps_what_is_written(
    visitor: Watched, own_tenant: Tenant
) -> None:
    opened(visitor, own_tenant, {"text": "before"}, "/text")
    page, asked = visitor.page, []
    page.get_by_role("button", name="Edit").click()
    field = page.get_by_role("textbox", name="Text")
    field.fill("an hour of writing")
    new = {"name": "n.json", "mimeType": "application/json", "buffer": b'{"text": "theirs"}'}
    page.locator("input[type=file]").set_input_files(new)
    page.locator("dialog[open] button.primary").click()
    expect(page.locator(".bar.good")).to_contain_text("n.json is imported, revision 2")
    expect(field).to_have_value("an hour of writing")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("pre ins")).to_have_text("theirs")

    def leave(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", leave)
    page.reload()
    expect(page.locator(".text")).to_have_text("theirs")
    assert asked == ["beforeunload"]
    expect(page.locator(".bar.good")).to_have_count(0)


def test_a_version_comes_back(visitor: Watched, own_tenant: Tenant) -> None:
    table = opened(visitor, own_tenant, {"text": "first"}, "/text")
    api(own_tenant, "PUT", f"/api/v1/tables/{table}/data", json={"text": "second"})
    visitor.page.reload()
    visitor.page.get_by_role("button", name="Versions").click()
    expect(visitor.page.locator("dialog")).to_contain_text("edited Key ")
    as_json = visitor.page.locator("dialog").get_by_role("columnheader", name="As JSON")
    expect(as_json).to_be_visible()
    visitor.look("versions")
    visitor.page.get_by_role("button", name="Restore").click()
    expect(visitor.page.locator("dialog dialog, dialog").last).to_contain_text("whole document")
    visitor.page.locator("dialog button.primary").click()
    expect(visitor.page.locator(".text")).to_have_text("first")


def test_a_long_string_comes_in_windows_and_is_found_and_copied_exactly(
    visitor: Watched, own_tenant: Tenant
) -> None:
    text = "🐡" + english(150_000, 3) + "𠮷" + chinese(30_000, 4)
    opened(visitor, own_tenant, {"text": text}, "/text")
    page = visitor.page
    expect(page.locator(".panebar")).to_contain_text(f"{len(text):,}")
    shown = page.evaluate("document.querySelector('.text').textContent")
    assert text.startswith(shown)
    assert 50_000 < len(shown) <= 100_000
    page.get_by_label("Part").select_option(label="3 / 3")
    expect(page.locator(".panebar")).to_contain_text(f"to {len(text):,} of")
    assert text.endswith(page.evaluate("document.querySelector('.text').textContent"))


def test_invisible_characters_are_shown_on_demand(visitor: Watched, own_tenant: Tenant) -> None:
    opened(visitor, own_tenant, {"text": HOSTILE_TEXT}, "/text")
    page = visitor.page
    page.get_by_label("invisible").check()
    codes = page.locator(".unseen").evaluate_all("all => all.map(one => one.dataset.code)")
    assert codes == ["U+202E", "U+202C", "U+200B", "U+200B"]
    assert page.evaluate("document.querySelector('.text').textContent") == HOSTILE_TEXT
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert not visitor.errors


def test_a_place_in_an_address_is_marked(visitor: Watched, own_tenant: Tenant) -> None:
    text = "🐡𠮷" + english(3_000, 5)
    table = opened(visitor, own_tenant, {"text": text})
    visitor.open(f"/documents/{table}?p=/text&a=100&b=140")
    expect(visitor.page.locator(".text .hit")).to_have_text(text[100:140], use_inner_text=False)
    visitor.page.get_by_role("button", name="Copy passage").click()
    expect(visitor.page.locator(".said.on")).to_be_visible()
    assert visitor.page.evaluate("navigator.clipboard.readText()") == text[100:140]


def test_keys_are_filtered_at_the_level_that_is_open(visitor: Watched, own_tenant: Tenant) -> None:
    members = {f"key {number}": number for number in range(500)}
    opened(visitor, own_tenant, {"first": members, "second": members})
    page = visitor.page
    page.get_by_role("treeitem").first.click()
    field = page.get_by_role("searchbox", name="Filter by key in /first")
    field.fill("499")
    field.press("Enter")
    expect(page.get_by_role("treeitem", level=2)).to_have_count(1)
    expect(page.get_by_role("treeitem", level=2)).to_contain_text("key 499")
    expect(page.get_by_role("treeitem", level=1)).to_have_count(2)
    page.get_by_role("treeitem", level=1).last.click()
    expect(page.get_by_role("treeitem", level=2)).to_have_count(201)
    expect(page.get_by_role("searchbox", name="Filter by key in /second")).to_have_value("")
    visitor.look("filtered")


def test_a_filter_holds_when_what_was_asked_before_it_is_answered_last(
    visitor: Watched, own_tenant: Tenant
) -> None:
    members = {f"key {number}": number for number in range(500)}
    opened(visitor, own_tenant, {"first": members})
    page = visitor.page
    held: list[Route] = []

    def hold(route: Route) -> None:
        asked = route.request.post_data_json
        if asked["json_pointer"] == "/first" and "key" not in asked:
            held.append(route)
        else:
            route.continue_()

    page.route("**/outline", hold)
    page.get_by_role("treeitem").first.click()
    field = page.get_by_role("searchbox", name="Filter by key in /first")
    field.fill("499")
    field.press("Enter")
    expect(page.get_by_role("treeitem", level=2)).to_have_count(1)
    for route in held:
        route.continue_()
    assert held
    visitor.rests()
    expect(page.get_by_role("treeitem", level=2)).to_have_count(1)


def test_only_large_strings_and_only_problems(visitor: Watched, own_tenant: Tenant) -> None:
    data = {"a": {"long": english(12_000, 3), "short": "x"}, "b": {"short": "y"}}
    table = own_tenant.table(data)
    own_tenant.ready(own_tenant.tool(table, name="search_large"))
    visitor.sign_in(own_tenant.key)
    visitor.open(f"/documents/{table}?p=/a/long")
    page = visitor.page
    expect(page.get_by_role("treeitem")).to_have_count(4)
    page.get_by_label("Show").select_option("large")
    expect(page.get_by_role("treeitem")).to_have_count(2)
    expect(page.get_by_role("treeitem").last).to_contain_text("long")
    page.get_by_label("Show").select_option("problem")
    expect(page.get_by_role("treeitem")).to_have_count(0)
    expect(page.get_by_text("nothing of this here").first).to_be_visible()


def test_chunks_are_walked_and_read_out(visitor: Watched, own_tenant: Tenant) -> None:
    table = own_tenant.table({"text": english(12_000, 3)})
    own_tenant.ready(own_tenant.tool(table, name="search_chunks"))
    visitor.sign_in(own_tenant.key)
    visitor.open(f"/documents/{table}?p=/text")
    page = visitor.page
    expect(page.locator(".text [data-chunk]").first).to_be_visible()
    for _ in range(2):
        page.keyboard.press("]")
    focused = page.locator(".text :focus")
    expect(focused).to_have_attribute("data-chunk", "2")
    label = focused.get_attribute("aria-label") or ""
    assert "chunk 2 begins at character" in label
    assert "overlap with 1" in label
    page.keyboard.press("[")
    expect(focused).to_have_attribute("aria-label", "chunk 1 begins at character 1")
    assert visitor.axe() == []


def test_a_string_of_51_megabytes_is_read_in_windows(
    visitor: Watched, own_tenant: Tenant, tmp_path: Path
) -> None:
    text = "🐡" + "lighthouse " * 4_640_000 + "the end"
    file = tmp_path / "huge.json"
    file.write_text(json.dumps({"text": text}, ensure_ascii=False))
    assert file.stat().st_size > 51_000_000
    visitor.sign_in(own_tenant.key)
    visitor.open("/documents")
    visitor.page.locator("input[type=file]").set_input_files(file)
    expect(visitor.page.locator(".bar.good")).to_be_visible(timeout=180_000)
    [table] = api(own_tenant, "GET", "/api/v1/tables")["tables"]
    visitor.open(f"/documents/{table['id']}?p=/text&a={len(text) - 7}&b={len(text)}")
    expect(visitor.page.locator(".text .hit")).to_have_text("the end")
    shown = visitor.page.evaluate("document.querySelector('.text').textContent.length")
    assert shown <= 100_000
    assert not visitor.errors


def test_a_string_of_a_document_opens_with_three_requests(
    visitor: Watched, own_tenant: Tenant
) -> None:
    table = own_tenant.table({"text": english(12_000, 3)})
    own_tenant.ready(own_tenant.tool(table))
    page = visitor.sign_in(own_tenant.key)
    page.get_by_role("row", name="search_library").wait_for()
    visitor.rests()
    asked = len(visitor.requests)
    page.evaluate("table => { location.hash = `/documents/${table}?p=/text`; }", table)
    expect(page.get_by_label("chunks")).to_be_visible()
    visitor.rests()
    kinds = [url.rsplit("/", 1)[1] for url in visitor.requests[asked:]]
    assert sorted(kinds) == ["chunks", "outline", "text"]


def test_a_string_of_61_million_characters_is_read_in_windows_and_skipped(
    visitor: Watched, own_tenant: Tenant, stack: Running
) -> None:
    """As another program of the database writes it: uploads of large files are tried above."""
    table = own_tenant.table({"x": 1})
    stack.sql(
        "UPDATE context_table SET data = jsonb_build_object('blob',"
        " repeat('0123456789', 6100000)) WHERE id = :id",
        id=table,
    )
    tool = own_tenant.tool(table)
    until(lambda: own_tenant.state(tool)["nodes_count"] == 1, 60)
    page = visitor.sign_in(own_tenant.key)
    visitor.open(f"/indexes/{tool['tool_id']}")
    row = page.get_by_role("row", name="/blob")
    for said in ("61,000,000", "skipped", "NODE_TOO_LARGE", "split the string", "you"):
        expect(row).to_contain_text(said)
    visitor.look("skipped")
    visitor.open(f"/documents/{table}?p=/blob&a=60999990&b=61000000&tool={tool['tool_id']}")
    expect(page.locator(".text .hit")).to_have_text("0123456789")
    expect(page.locator(".bar.warn")).to_contain_text("split the string")
    assert page.evaluate("document.querySelector('.text').textContent.length") == 40_000
    visitor.look("skipped-document")
    assert not visitor.errors


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_table_is_deleted_after_its_name_was_typed(
    visitor: Watched, own_tenant: Tenant, language: str
) -> None:
    """What goes with it is named; the list follows, and its address says so."""
    body = {"project_id": own_tenant.project_id, "data": {"text": english(300)}}
    tables = [
        api(own_tenant, "POST", "/api/v1/tables", json=body | {"name": name})["id"]
        for name in ("leaving", "stays")
    ]
    own_tenant.tool(tables[0], name="search_leaving")
    page = visitor.sign_in(own_tenant.key)
    visitor.set(language, "light")
    visitor.open(f"/documents/{tables[0]}")
    expect(page.get_by_role("treeitem")).to_have_count(1)
    opener = page.locator("main button.danger")
    opener.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("search_leaving")
    expect(dialog).to_contain_text("leaving")
    visitor.look(f"delete-table-{language}")
    assert visitor.axe() == []
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    page.keyboard.press("Enter")
    act = dialog.locator("button.primary")
    expect(act).to_be_disabled()
    dialog.get_by_role("textbox").fill("leaving")
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("stays")
    expect(page.locator("h1")).to_be_focused()
    assert own_tenant("GET", f"/api/v1/tables/{tables[0]}").status_code == 404
    visitor.open(f"/documents/{tables[0]}?p=/text")
    expect(page.locator(".empty")).to_contain_text({"en": "is deleted", "zh": "已删除"}[language])
    visitor.look(f"deleted-table-{language}")
    assert visitor.axe() == []
    page.locator(".empty a").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    assert not visitor.errors
