"""The page says nothing that is not so: counts are of the whole, a check mark of what is over."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, Route, expect

from console.build import HERE, _node_home
from tests.builders import english
from tests.console.check_owning import field
from tests.console.check_replace import CHAPTER, OLD, previewed
from tests.console.check_states import CHINESE, PROBLEMS
from tests.console.conftest import Watched, api
from tests.e2e.running import Tenant

FIELDS = [
    ("project_id", "x"),
    ("project_id", 0),
    ("project_id", 1.5),
    ("table_id", 2**70),
    ("name", 5),
    ("name", ""),
    ("name", "n" * 200),
    ("json_path", []),
    ("type", "other"),
    ("unknown", 1),
    ("search_config", 1),
    ("search_config", {"strategy": "x", "include_metadata": "x", "vector_weight": "x"}),
    ("search_config", {"vector_weight": 2, "bm25_weight": -1, "filterable": "x"}),
    ("search_config", {"filterable": ["f"] * 99}),
    ("search_config", {"top_k": None}),
    ("name", "bell\u0007"),
    ("search_config", {"chunk_size": 100, "chunk_overlap": 90}),
    ("search_config", {"vector_weight": 0, "bm25_weight": 0}),
    ("search_config", {"agents_may_filter": True}),
]
DROP = """([kind, where]) => {
    const given = new DataTransfer();
    given.items.add(new File(['{"a": 1}'], "dropped.json"));
    const event = new DragEvent(kind, { dataTransfer: given, bubbles: true, cancelable: true });
    return !document.querySelector(where).dispatchEvent(event);
}"""


def in_typescript(script: str) -> Any:
    """What a script over the page's own modules prints, as JSON."""
    done = subprocess.run(  # noqa: S603 - our own script
        [str(_node_home() / "bin/node"), "--experimental-strip-types", "--no-warnings",
         "--input-type=module", "--eval", script],
        cwd=HERE, check=False, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_undo_that_takes_long_is_followed_to_its_end(
    visitor: Watched, own_tenant: Tenant
) -> None:
    """The server answers "executing" at first, as it does for many documents."""
    previewed(visitor, own_tenant)
    page = visitor.page
    page.get_by_role("button", name="Replace 4").click()
    page.locator("dialog button.primary").click()
    expect(page.locator(".bar.good")).to_contain_text("4 places")
    polls: list[str] = []

    def slow(route: Route) -> None:
        answer = route.fetch().json()
        if "dry_run" not in route.request.url:
            answer |= {"state": "executing", "reverted_count": 0}
        route.fulfill(json=answer)

    def once_under_way(route: Route) -> None:
        answer = route.fetch().json()
        if route.request.method == "GET" and answer.get("undoes") and not polls:
            polls.append(route.request.url)
            answer["state"] = "executing"
        route.fulfill(json=answer)

    page.route(re.compile(r"/replace/\d+$"), once_under_way)
    page.route("**/undo*", slow)
    page.locator(".bar.good").get_by_role("button", name="Undo").click()
    expect(page.locator("dialog")).to_contain_text("4 places come back")
    expect(page.locator("dialog")).not_to_contain_text("stay")
    page.locator("dialog button.primary").click()
    expect(page.locator(".bar.note")).to_contain_text("of 1 document done")
    expect(page.locator(".bar.good")).to_contain_text("4 places taken back")
    assert polls
    expect(page.locator("details tbody tr").first.locator("td").nth(2)).to_have_text("4")
    assert not visitor.errors


def test_what_is_left_out_as_equal_is_said(visitor: Watched, own_tenant: Tenant) -> None:
    own_tenant.table(CHAPTER)
    page = visitor.sign_in(own_tenant.key)
    visitor.open(f"/replace?find={quote(OLD)}&by={quote(OLD)}")
    expect(page.locator(".empty")).to_contain_text("4 places were found")
    expect(page.locator(".empty")).to_contain_text("4 equal already")


def test_words_are_found_in_the_whole_of_a_long_string(
    visitor: Watched, own_tenant: Tenant
) -> None:
    parts = [english(150_000, 5), "zebrafish", english(150_000, 6), "zebrafish", "ends"]
    table = own_tenant.table({"long": " ".join(parts)})
    page = visitor.sign_in(own_tenant.key)
    visitor.open(f"/documents/{table}?p=/long")
    find = page.get_by_role("searchbox", name="Find in text")
    find.fill("zebrafish")
    status = page.locator(".find [role=status]")
    expect(status).to_have_text("2 found")
    find.press("Enter")
    expect(status).to_have_text("1 of 2")
    expect(page.locator(".text mark, .text .match").first).to_contain_text("zebrafish")
    find.press("Enter")
    expect(status).to_have_text("2 of 2")
    expect(page.locator(".text mark, .text .match").first).to_contain_text("zebrafish")
    find.fill("no such words")
    expect(status).to_have_text("none")
    assert not visitor.errors


def test_hits_of_another_question_do_not_stay(signed_in: Watched) -> None:
    page = signed_in.open("/search?q=comets")
    expect(page.locator(".hits li").first).to_be_visible()
    signed_in.open("/search?tool=999999&q=comets")
    expect(page.locator("[role=alert]")).to_contain_text("404")
    expect(page.locator(".hits li")).to_have_count(0)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/search/explain", hold)
    signed_in.open("/search?q=violin")
    expect(page.get_by_role("button", name="Stop").first).to_be_visible()
    expect(page.locator("[role=alert]")).to_have_count(0)


def test_a_tool_with_nothing_to_index_is_not_ready_and_cancel_deletes_it(
    visitor: Watched, own_tenant: Tenant
) -> None:
    table = own_tenant.table({"note": "short"})
    own_tenant.tool(table, name="search_nowhere", json_path="/nope")
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/overview")
    row = page.locator("tr", has_text="search_nowhere")
    expect(row).to_contain_text("nothing to index")
    step = page.locator("li[aria-current=step]")
    expect(step).to_contain_text("2 · A Search Tool")
    step.get_by_role("button").click()
    field(page, "name").fill("search_notes")
    page.locator("dialog[open] button.primary").click()
    expect(page.get_by_text("the longest has 5 characters")).to_be_visible()
    page.locator("dialog[open]").get_by_role("button", name="Cancel").click()
    expect(page.locator("dialog[open]")).to_have_count(0)
    tools = api(own_tenant, "GET", "/api/v1/tools")["tools"]
    assert [tool["name"] for tool in tools] == ["search_nowhere"]


def test_a_refusal_where_nobody_was_faster_does_not_say_so(signed_in: Watched) -> None:
    fields = {"code": "CONFLICT", "detail": "the state forbids it", "status": 409}
    page = signed_in.page
    page.route("**/search/explain", lambda route: route.fulfill(status=409, json=fields))
    signed_in.open("/search?q=comets")
    expect(page.locator("[role=alert] strong")).to_have_text("This cannot be done now")


def test_every_refusal_is_chinese_on_a_chinese_page() -> None:
    source = Path("console/src/i18n/refusals.ts").read_text(encoding="utf-8")
    for code in {code for status, code, _ in PROBLEMS if status != 500}:
        [sentence] = re.findall(rf'^  {code}: "(.*)",$', source, re.MULTILINE)
        assert CHINESE.search(sentence), code


def test_a_refusal_shows_its_chinese_sentence_and_the_original(signed_in: Watched) -> None:
    fields = {"code": "PATTERN_INVALID", "detail": "no RE2 expression", "status": 422}
    page = signed_in.page
    signed_in.set("zh", "light")
    page.route("**/search/explain", lambda route: route.fulfill(status=422, json=fields))
    signed_in.open("/search?q=comets")
    alert = page.locator("[role=alert]")
    expect(alert).to_contain_text("正则表达式无效")
    alert.locator("summary").click()
    expect(alert.locator("[lang=en]")).to_have_text("no RE2 expression")


def test_where_a_text_stops_being_json() -> None:
    places = {
        '{"a": [1,2': (1, 11),
        "": (1, 1),
        '{\n  "a": 1,\n  b: 2\n}': (3, 3),
        '{"a": 1,}': (1, 9),
        '["𠮷", x]': (1, 7),
        "[1] 2": (1, 5),
        '["a\nb"]': (1, 2),
        "[01]": (1, 2),
        '{"a" 1}': (1, 6),
        "[1}": (1, 3),
        '"ok"': None,
        '{"a": [1, -2.5e+3, {}, [], true, null, "\\u0041"]}': None,
    }
    found = in_typescript(
        f'import {{ jsonError }} from "{HERE}/src/rules/json.ts";'
        f"console.log(JSON.stringify({json.dumps([*places])}.map(jsonError)));"
    )
    told = [each and (each["line"], each["column"]) for each in found]
    assert dict(zip(places, told, strict=True)) == places


def test_a_file_that_is_no_json_names_the_line(visitor: Watched, own_tenant: Tenant) -> None:
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/documents")
    bad = {"name": "bad.json", "mimeType": "application/json", "buffer": b'{\n "a": [1 2]\n}'}
    page.locator("input[type=file]").set_input_files(bad)
    expect(page.locator("[role=alert]")).to_contain_text('line 2, column 10:  "a": [1 2]')


def drag(page: Page, kind: str, where: str) -> bool:
    return bool(page.evaluate(DROP, [kind, where]))


def test_a_file_is_dropped_anywhere_and_the_page_says_so(
    visitor: Watched, own_tenant: Tenant
) -> None:
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/documents")
    assert drag(page, "dragover", "header nav")
    expect(page.locator(".dropzone")).to_contain_text("Drop the file")
    assert drag(page, "drop", "header nav")
    expect(page.locator(".bar.good")).to_contain_text("dropped.json is imported, revision 1")
    expect(page.locator(".dropzone")).to_have_count(0)


def test_a_file_that_nothing_takes_leaves_the_page_as_it_is(visitor: Watched) -> None:
    visitor.open("/documents")  # nobody is signed in
    page = visitor.page
    expect(page.get_by_role("button").first).to_be_visible()
    assert drag(page, "dragover", "body")
    assert drag(page, "drop", "body")
    expect(page.locator(".dropzone")).to_have_count(0)


def test_a_file_is_dropped_on_a_page_of_other_things(visitor: Watched, own_tenant: Tenant) -> None:
    page = visitor.sign_in(own_tenant.key)
    for where in ("search", "agents", "keys", "health", "replace"):
        visitor.open(f"/{where}")
        assert drag(page, "dragover", "header nav")
        expect(page.locator(".dropzone")).to_contain_text("Drop the file")
        assert drag(page, "drop", "header nav")
        reported = page.locator(".bar.good", has_text="dropped.json is imported, revision 1")
        expect(reported).to_be_visible()
        assert f"#/{where}" in page.url
        reported.get_by_role("link").click()
        expect(page.get_by_role("treeitem").first).to_be_visible()
        expect(reported).to_have_count(0)


def test_a_file_that_is_dropped_on_a_document_asks_before_it_replaces(
    visitor: Watched, own_tenant: Tenant
) -> None:
    table = own_tenant.table({"kept": 1})
    page = visitor.sign_in(own_tenant.key)
    visitor.open(f"/documents/{table}")
    expect(page.get_by_role("button", name="Versions")).to_be_visible()
    expect(page.get_by_text("revision 1")).to_be_visible()
    assert drag(page, "drop", "header nav")
    dialog = page.locator("dialog[open]")
    expect(dialog).to_contain_text("dropped.json")
    assert api(own_tenant, "GET", f"/api/v1/tables/{table}/data") == {"kept": 1}
    assert len(api(own_tenant, "GET", "/api/v1/tables")["tables"]) == 1
    dialog.get_by_role("button", name="Replace").click()
    expect(page.locator(".bar.good")).to_contain_text("revision 2")
    assert api(own_tenant, "GET", f"/api/v1/tables/{table}/data") == {"a": 1}


def test_a_tool_says_beforehand_how_many_strings_it_would_index(
    visitor: Watched, own_tenant: Tenant
) -> None:
    texts = ["😀" * 100, "x" * 199, "x" * 200, " " * 300, "x"]
    table = own_tenant.table({"a": texts, "b": {"c": "y" * 150}})
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/overview")
    page.get_by_role("button", name="Make a Search Tool…").first.click()
    dialog = page.locator("dialog[open]")
    expect(dialog).to_contain_text("0 of 5 strings there would be indexed.")
    threshold = dialog.locator("input[type=number]").first
    for count, shown in ((200, 1), (150, 3), (101, 3), (100, 4), (1, 5)):
        threshold.fill(str(count))
        expect(dialog).to_contain_text(f"{shown} of 5 strings there would be indexed.")
    scope = dialog.locator("input[name=scope]")
    scope.fill("/b")
    expect(dialog).not_to_contain_text("would be indexed")  # nobody has asked about that yet
    scope.press("Tab")
    expect(dialog).to_contain_text("1 of 1 string there would be indexed.")
    scope.fill("/nowhere")
    scope.press("Tab")
    expect(dialog).not_to_contain_text("would be indexed")
    expect(dialog.get_by_role("status")).to_be_visible()
    reported = api(own_tenant, "GET", "/api/v1/tables")
    reported["tables"][0]["stored_bytes"] = 1_000_001
    page.route("**/api/v1/tables?*", lambda route: route.fulfill(json=reported))
    page.reload()
    visitor.requests.clear()
    page.get_by_role("button", name="Make a Search Tool…").first.click()
    expect(dialog).to_contain_text("its strings are not counted beforehand")
    assert not any("/data/read" in url for url in visitor.requests)
    assert table


def test_a_refused_field_says_why_in_chinese(visitor: Watched, own_tenant: Tenant) -> None:
    own_tenant.table({"a": "x"})
    page = visitor.sign_in(own_tenant.key)
    visitor.set("zh", "light")
    visitor.open("/overview")
    page.get_by_role("button", name="创建搜索工具").first.click()
    dialog = page.locator("dialog[open]")
    dialog.locator("input[name=name]").fill("search_a")
    dialog.locator("input[type=number]").first.fill("60000000")
    dialog.locator("button.primary").click()
    refused = dialog.get_by_role("alert").locator("li")
    expect(refused).to_have_text("body.search_config.chunk_threshold 不得大于 50000000")


def test_each_form_of_a_refusal_is_known_in_chinese(own_tenant: Tenant) -> None:
    """By what the API says of bodies that are wrong in one way each."""
    path = "/api/v1/tools/search"
    bodies: list[dict[str, Any]] = [{}, *({name: value} for name, value in FIELDS)]
    answers = [own_tenant("POST", path, json=body).json() for body in bodies]
    reported = sorted({error["message"] for answer in answers for error in answer["errors"]})
    found = in_typescript(
        f'import {{ fieldInChinese }} from "{HERE}/src/rules/fields.ts";'
        f"console.log(JSON.stringify({json.dumps(reported)}.map(fieldInChinese)));"
    )
    assert len(reported) > 10
    assert [message for message, known in zip(reported, found, strict=True) if not known] == []


def test_new_content_asks_before_it_replaces(visitor: Watched, own_tenant: Tenant) -> None:
    table = own_tenant.table({"kept": "until it is confirmed"})
    page = visitor.sign_in(own_tenant.key)
    visitor.open(f"/documents/{table}")
    file = {"name": "next.json", "mimeType": "application/json", "buffer": b'{"next": 1}'}
    chosen = page.locator("input[type=file]")
    for act, expected in (("Cancel", {"kept": "until it is confirmed"}), ("Replace", {"next": 1})):
        chosen.set_input_files(file)
        dialog = page.locator("dialog[open]")
        expect(dialog).to_contain_text(re.compile(r"next\.json \(11 bytes\) replaces .*revision 1"))
        dialog.get_by_role("button", name=act).click()
        if act == "Replace":
            expect(page.locator(".bar.good")).to_contain_text("revision 2")
        assert api(own_tenant, "GET", f"/api/v1/tables/{table}/data") == expected


def test_every_string_of_an_index_is_reached(visitor: Watched, own_tenant: Tenant) -> None:
    document = {"items": [f"{at} " + english(600, 9) for at in range(260)]}
    table = own_tenant.table(document)
    tool = own_tenant.tool(table, json_path="", search_config={"chunk_threshold": 500})
    own_tenant.ready(tool, within_s=180)
    page = visitor.sign_in(own_tenant.key)
    visitor.open(f"/indexes/{tool['tool_id']}")
    rows = page.locator("section tbody tr")
    expect(rows).to_have_count(50)
    for count in (200, 260):
        page.get_by_role("button", name="More").click()
        expect(rows).to_have_count(count)
    expect(page.get_by_role("button", name="More")).to_have_count(0)
    page.get_by_role("searchbox", name="Filter by pointer").fill("/items/259")
    page.keyboard.press("Enter")
    expect(rows).to_have_count(1)
    expect(rows.get_by_role("link")).to_have_attribute("href", re.compile("p=%2Fitems%2F259"))


PART = {"code": None, "checked_at": None, "since": None}
WELL = [
    {**PART, "name": name, "state": "ok"}
    for name in ("database", "vector_store", "embedder", "queue", "indexes", "cleanup")
]


@pytest.mark.parametrize(
    ("state", "said", "sign"),
    [
        ("ok", "Nothing is wrong.", "●"),
        ("failing", "Something is wrong.", "▲"),
        ("unknown", "Not everything could be read.", "○"),
    ],
)
def test_health_is_a_verdict_of_every_part_and_a_sign_on_every_page(
    signed_in: Watched, state: str, said: str, sign: str
) -> None:
    part = {**PART, "name": "vector_store", "state": state, "code": "NO_ANSWER"}
    parts = [part if one["name"] == part["name"] and state != "ok" else one for one in WELL]

    def reported(route: Route) -> None:
        route.fulfill(json=route.fetch().json() | {"verdict": state, "parts": parts})

    page = signed_in.page
    page.route("**/health", reported)
    signed_in.open("/keys")
    page.reload()
    expect(page.locator("nav .dot")).to_have_text(sign)
    expect(page.get_by_role("img", name=said)).to_be_visible()
    signed_in.open("/health")
    expect(page.locator("main [role=status]").first).to_contain_text(said)
    assert ("Nothing is wrong" in page.locator("main").inner_text()) == (state == "ok")
    rows = page.get_by_role("rowheader")
    expect(rows).to_have_count(6)
    if state != "ok":
        expect(page.locator("tr", has_text="Vector store")).to_contain_text("NO_ANSWER")
    assert signed_in.axe() == []


def test_saving_keeps_the_tree_as_it_is(visitor: Watched, own_tenant: Tenant) -> None:
    table = own_tenant.table({"chapters": {"one": "first"}, "title": "before"})
    page = visitor.sign_in(own_tenant.key)
    visitor.open(f"/documents/{table}")
    page.get_by_role("treeitem").filter(has_text="chapters").click()
    one = page.get_by_role("treeitem").filter(has_text="first")
    expect(one).to_be_visible()
    page.get_by_role("treeitem").filter(has_text="title").click()
    page.get_by_role("button", name="Edit").click()
    page.locator("main textarea").fill("after")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".text")).to_have_text("after")
    expect(one).to_be_visible()


def test_the_first_press_of_the_theme_changes_what_is_seen(visitor: Watched) -> None:
    page = visitor.open()
    page.emulate_media(color_scheme="light")
    page.get_by_role("button", name="Theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
