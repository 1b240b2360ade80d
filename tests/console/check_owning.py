"""What a platform engineer does: load, make a tool, watch its index, keys, agents, health."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import LANGUAGES, Watched, api
from tests.console.documents import ARTICLE
from tests.e2e.running import Tenant


def field(page: Page, name: str) -> Any:
    return page.locator(f"dialog[open] [name={name}]")


def test_from_nothing_to_the_first_question(visitor: Watched, own_tenant: Tenant) -> None:
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/overview")
    page.locator("[name=json]").fill('{"broken": ')
    page.get_by_role("button", name="Make the table").click()
    expect(page.get_by_text("This is not JSON: line 1, column 12")).to_be_visible()
    page.locator("[name=json]").fill(json.dumps({**ARTICLE, "big": 9223372036854775807}))
    page.get_by_role("button", name="Make the table").click()
    step = page.locator("li[aria-current=step]")
    expect(step).to_contain_text("2 · A Search Tool")
    assert visitor.axe() == []
    step.get_by_role("button").click()
    field(page, "name").fill("search_melons")
    page.locator("dialog[open] button.primary").click()
    expect(page.locator("li[aria-current=step]")).to_contain_text("3 · A question")
    row = page.locator("tr", has_text="search_melons")
    expect(row).to_contain_text("ready")
    page.locator("li[aria-current=step]").get_by_role("button", name="Ask").click()
    expect(page).to_have_url(re.compile(r"#/search\?tool="))
    page.get_by_role("link", name="Overview").click()
    expect(page.locator("table.overview")).to_be_visible()
    expect(page.locator("li[aria-current=step]")).to_have_count(0)
    [table] = api(own_tenant, "GET", "/api/v1/tables")["tables"]
    kept = own_tenant("GET", f"/api/v1/tables/{table['id']}/data?pointer=/big").text
    assert kept == "9223372036854775807"
    assert visitor.errors == []


def test_a_filter_stays(signed_in: Watched) -> None:
    page = signed_in.open("/overview")
    box = page.get_by_role("searchbox")
    expect(page.locator("tr", has_text="search_novel")).to_be_visible()
    box.fill("nothing has this name")
    expect(page.get_by_text("has this in its name")).to_be_visible()
    page.get_by_role("link", name="Keys").click()
    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_role("searchbox")).to_have_value("nothing has this name")
    page.get_by_role("searchbox").fill("NOVEL")
    expect(page.locator("tr", has_text="search_novel")).to_be_visible()


def test_project_search_is_switched_on_and_off(visitor: Watched, own_tenant: Tenant) -> None:
    own_tenant.table(ARTICLE)
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/overview")
    page.get_by_role("button", name="Switch on").click()
    expect(page.get_by_role("link", name="details")).to_be_visible()
    page.get_by_role("button", name="Switch off").click()
    page.locator("dialog[open] button.primary").click()
    expect(page.get_by_role("button", name="Switch on")).to_be_visible()
    status = own_tenant("GET", f"/api/v1/projects/{own_tenant.project_id}/search-index").json()
    assert status["code"] == "PROJECT_INDEX_OFF"


def test_a_tool_that_found_nothing_is_made_again(visitor: Watched, own_tenant: Tenant) -> None:
    table = own_tenant.table({"note": "short, and yet a text " * 12})
    page = visitor.sign_in(own_tenant.key)
    visitor.open(f"/indexes?new=1&table={table}")
    field(page, "name").fill("search_notes")
    page.locator("dialog[open] button.primary").click()
    expect(page.get_by_text("the longest has 264 characters")).to_be_visible()
    page.get_by_role("button", name="Make it again from 200 characters on").click()
    expect(page).to_have_url(re.compile(r"#/indexes/\d+"))
    [tool] = api(own_tenant, "GET", "/api/v1/tools")["tools"]
    assert tool["name"] == "search_notes"
    expect(page.locator("main")).to_contain_text("1 of 1 string · 1 chunk")


def test_an_index_is_followed_rebuilt_rolled_back_and_emptied(
    visitor: Watched, own_tenant: Tenant
) -> None:
    tool = own_tenant.tool(own_tenant.table(ARTICLE), name="search_melons", json_path="")["tool_id"]
    page = visitor.sign_in(own_tenant.key)
    visitor.open(f"/indexes/{tool}")
    expect(page.locator("main")).to_contain_text("ready")
    expect(page.locator("td", has_text="/articles/0/content")).to_be_visible()
    expect(page.get_by_role("button", name="Roll back")).to_have_count(0)
    page.get_by_role("button", name="Rebuild").click()
    expect(page.locator("dialog[open]")).to_contain_text("1 string, 16 chunks")
    expect(page.locator("dialog[open]")).to_contain_text("tokens")
    act = page.locator("dialog[open] button.primary")
    expect(act).to_be_disabled()
    page.locator("dialog[open] input").fill("search_melons")
    act.click()
    expect(page.locator(".said")).to_contain_text("Generation 2")
    expect(page.locator("dl.facts")).to_contain_text("_g2")
    page.get_by_role("button", name="Roll back").click()
    page.locator("dialog[open] button.primary").click()
    expect(page.locator(".said")).to_contain_text("Generation 1")
    page.get_by_role("button", name="Empty").click()
    page.locator("dialog[open] input").fill("search_melons")
    page.locator("dialog[open] button.primary").click()
    expect(page.locator("main")).to_contain_text("INDEX_DELETED")
    assert visitor.errors == []


def test_a_key_is_made_shown_once_rotated_and_revoked(visitor: Watched, own_tenant: Tenant) -> None:
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/keys")
    page.get_by_role("button", name="Make a key").click()
    field(page, "name").fill("agent builder")
    expect(page.locator("dialog[open] .bar.warn")).to_be_visible()
    field(page, "authority").fill(own_tenant.key)
    expect(page.locator("dialog[open] .bar.warn")).to_have_count(0)
    expect(field(page, "lasting")).to_have_value(str(90 * 86_400))
    page.locator("dialog[open] button.primary").click()
    expect(page.locator(".bar.good")).to_be_visible()
    expect(page.locator(".bar.warn")).to_have_count(0)
    page.get_by_role("button", name="Reveal").click()
    shown = page.locator("code.secret").inner_text()
    scopes = own_tenant.stack.http.get(
        "/api/v1/whoami", headers={"authorization": f"Bearer {shown}"}
    ).json()["scopes"]
    assert scopes == ["search"]
    row = page.locator("tr", has_text="agent builder")
    expect(row).to_contain_text("in 90 days")
    visitor.look("keys-made")
    row.get_by_role("button", name="Rotate").click()
    field(page, "authority").fill(own_tenant.key)
    page.locator("dialog[open] button.primary").click()
    expect(page.locator("tr", has_text="agent builder")).to_have_count(2)
    page.locator("tr", has_text="agent builder").first.get_by_role("button", name="Revoke").click()
    expect(page.locator("dialog[open]")).to_contain_text("last used")
    page.locator("dialog[open] button.primary").click()
    expect(page.locator(".said")).to_contain_text("Revoked")
    refused = own_tenant.stack.http.get(
        "/api/v1/whoami", headers={"authorization": f"Bearer {shown}"}
    )
    assert refused.status_code == 401
    kept = page.evaluate("JSON.stringify(sessionStorage) + JSON.stringify(localStorage)")
    assert own_tenant.key not in kept
    assert shown not in kept
    assert not any(own_tenant.key in url or shown in url for url in visitor.requests)


def test_a_key_of_the_session_says_when_it_ends(visitor: Watched, own_tenant: Tenant) -> None:
    page = visitor.sign_in(own_tenant.key)
    ends = re.compile(
        r"^This key ends at \d+:\d\d.[AP]M, with your session\. Paste your project key"
    )
    visitor.open("/keys")
    page.get_by_role("button", name="Make a key").click()
    expect(page.locator("dialog[open]").get_by_text(ends)).to_be_visible()
    expect(field(page, "lasting")).to_have_count(0)  # nothing to choose that it will not have
    assert visitor.axe() == []
    field(page, "name").fill("short")
    page.locator("dialog[open] button.primary").click()
    expect(page.locator(".bar.good").get_by_text(ends)).to_be_visible()
    expect(page.locator("tr", has_text="short")).to_contain_text(re.compile("in [78] hr"))
    visitor.look("keys-short")
    assert visitor.axe() == []


def pasted(name: str, text: str) -> tuple[str, str]:
    """Address and header of a client's configuration, read as that client reads it."""
    if name in {"Claude Code", "Inspector"}:
        words = shlex.split(text)
        header = words[words.index("--header") + 1]
        return next(word for word in words if word.startswith("http:")), header.split(": ", 1)[1]
    if name == "Codex":
        [server] = tomllib.loads(text)["mcp_servers"].values()
        return server["url"], server["http_headers"]["Authorization"]
    document = json.loads(text)
    [servers] = document.values()
    [server] = servers.values()
    if "args" in server:
        assert server["args"][-1] == "Authorization:${AUTHORIZATION}"
        return server["args"][2], server["env"]["AUTHORIZATION"]
    url = next(server[key] for key in ("url", "httpUrl", "serverUrl") if key in server)
    return url, server["headers"]["Authorization"]


def test_an_instance_is_made_connected_and_tried(visitor: Watched, own_tenant: Tenant) -> None:
    tool = own_tenant.tool(own_tenant.table(ARTICLE), name="search_melons", json_path="")
    own_tenant.ready(tool)
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/agents")
    page.get_by_role("button", name="Make an MCP instance").click()
    field(page, "name").fill('support "eu"')
    page.locator("dialog[open] button.primary").click()
    expect(page.locator(".bar.good")).to_be_visible()
    expect(page.locator(".bar.warn")).to_have_count(0)
    expect(page.locator("tr", has_text="cs_mcp_")).to_contain_text("in 90 days")
    page.get_by_role("button", name="Reveal").click()
    secret = page.locator("code.secret").inner_text()
    clients = page.get_by_role("group", name="Client").get_by_role("button")
    assert clients.count() == 9
    for at in range(9):
        clients.nth(at).click()
        page.locator("section", has=page.locator("pre")).last.get_by_role(
            "button", name="Copy"
        ).last.click()
        copied = page.evaluate("navigator.clipboard.readText()")
        found = pasted(clients.nth(at).inner_text(), copied)
        assert found == (f"{visitor.base_url}/mcp", f"Bearer {secret}")
    page.get_by_role("button", name="Try it").click()
    offered = page.locator("details summary", has_text="search_melons")
    expect(offered).to_be_visible()
    with page.expect_response(lambda response: "/bindings/" in response.url):
        page.locator("label", has_text="search_melons").locator("input").click()
    expect(offered).to_have_count(0)
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("main")).to_contain_text("tools/list: ")
    expect(offered).to_have_count(0)
    visitor.look("agents-connected")
    assert visitor.axe() == []
    page.get_by_role("switch").click()
    expect(page.get_by_role("switch")).not_to_be_checked()
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("[role=alert]")).to_contain_text("401")
    expect(page.get_by_role("navigation")).to_be_visible()


def test_what_stands_says_so_in_the_place_of_the_bar(signed_in: Watched, tenant: Tenant) -> None:
    [tool] = api(tenant, "GET", "/api/v1/tools")["tools"]
    path = f"/api/v1/tools/{tool['id']}/search-index"
    known = api(tenant, "GET", path)
    states = {"indexed": 383, "queued": 157}
    counts = {"nodes": states, "nodes_count": 540, "next_attempt_at": "2026-01-01T00:00:00Z"}
    reported = {**known, **counts, "status": "indexing", "indexed_chunks_count": 100}
    signed_in.page.route(f"**{path}", lambda route: route.fulfill(json=reported))
    page = signed_in.open(f"/indexes/{tool['id']}")
    expect(page.locator(".progress")).to_be_visible()
    expect(page.locator("main")).to_contain_text("383 of 540 strings · 100 chunks")
    expect(page.locator("main")).to_contain_text("Next attempt now")
    assert fill(page) == pytest.approx(383 / 540, abs=0.01)
    states |= {"indexed": 0, "queued": 540}
    expect(page.locator("main")).to_contain_text("0 of 540 strings")
    assert fill(page) == 0
    assert "%" not in page.locator("main").inner_text()
    error = {"code": "EMBEDDING_UNAVAILABLE", "message": "it throttles", "retryable": True}
    reported |= {"status": "stalled", "last_error": {**error, "at": "2026-11-22T10:14:02Z"}}
    expect(page.get_by_role("alert")).to_have_text("Strings wait, and nothing moves.")
    expect(page.locator(".progress")).to_have_count(0)
    expect(page.locator("main")).to_contain_text("EMBEDDING_UNAVAILABLE")
    reported["last_error"] = None
    expect(page.get_by_role("alert")).to_have_text(
        "Strings wait, and nothing moves. No error is known."
    )


def fill(page: Page) -> float:
    """How much of the bar is full."""
    bar, full = page.locator(".progress"), page.locator(".progress .fill")
    return float(full.evaluate("e => e.offsetWidth") / bar.evaluate("e => e.offsetWidth"))


def test_lists_show_strings_in_their_bars(signed_in: Watched, tenant: Tenant) -> None:
    reported = api(tenant, "GET", "/api/v1/tools?limit=100")
    reported["tools"][0]["status"] = "indexing"
    reported["tools"][0]["search_index"] |= {
        "nodes": {"indexed": 1, "queued": 3},
        "chunks_count": 152,
        "indexed_chunks_count": 151,
    }
    signed_in.page.route("**/api/v1/tools?*", lambda route: route.fulfill(json=reported))
    signed_in.page.reload()
    for name in ("overview", "indexes"):
        page = signed_in.open(f"/{name}")
        row = page.locator("tr", has_text="search_novel")
        expect(row).to_contain_text("1 indexed · 3 queued")
        expect(row.get_by_text("151", exact=True)).to_be_visible()
        assert fill(page) == pytest.approx(1 / 4, abs=0.02)
        signed_in.look(f"{name}-indexing")


def test_tools_of_one_name_are_told_apart(signed_in: Watched, tenant: Tenant) -> None:
    reported = api(tenant, "GET", "/api/v1/tools?limit=100")
    [tool] = reported["tools"]
    reported["tools"] += [{**tool, "id": tool["id"] + 1000, "json_pointer": "/books"}]
    reported["tools"] += [{**tool, "id": tool["id"] + 2000, "name": "another"}]
    page = signed_in.page
    page.route("**/api/v1/tools?*", lambda route: route.fulfill(json=reported))
    page.reload()
    both = [f"search_novel · {tool['id']} · /", f"search_novel · {tool['id'] + 1000} · /books"]
    signed_in.open("/search")
    for where in ("/search", "/evaluate"):
        signed_in.open(where)
        options = page.locator("select").first.locator("option")
        expect(options.nth(2)).to_have_text("another")
        assert options.all_inner_texts()[:2] == both
    signed_in.open("/indexes")
    for name in both:
        expect(page.get_by_role("link", name=name, exact=False).first).to_be_visible()
    signed_in.open("/agents")
    page.get_by_role("button", name="Make an MCP instance").click()
    names = page.locator("dialog[open] fieldset bdi")
    expect(names).to_have_text([*both, "another"])


def test_who_leaves_while_the_lists_are_read_has_them_elsewhere(
    visitor: Watched, own_tenant: Tenant
) -> None:
    table = own_tenant.table(ARTICLE)
    held: list[Any] = []
    page = visitor.page

    def hold_first(route: Any) -> None:
        if held:
            route.continue_()
        held.append(route)

    page.route("**/api/v1/tools?*", hold_first)
    with page.expect_request("**/api/v1/tools?*"):
        visitor.sign_in(own_tenant.key)
    visitor.open(f"/documents/{table}")
    expect(page.get_by_role("treeitem").first).to_be_visible()


def test_a_file_that_makes_no_document_says_so(visitor: Watched, own_tenant: Tenant) -> None:
    page = visitor.sign_in(own_tenant.key)
    files = {
        "novel.docx": (b"PK", "JSON is taken, and texts", "只接受 JSON 和 .txt、.md 文本"),
        "novel.txt": (b"\xff\xfe\x00", "neither UTF-8 nor GB18030", "既不是 UTF-8"),
    }
    for at, language in enumerate(LANGUAGES):
        visitor.set(language, "light")
        visitor.open("/overview")
        for name, (content, *said) in files.items():
            chosen = {"name": name, "mimeType": "text/plain", "buffer": content}
            page.locator("input[type=file]").first.set_input_files(chosen)
            expect(page.get_by_role("alert")).to_contain_text(said[at])
    assert api(own_tenant, "GET", "/api/v1/tables")["tables"] == []


def test_polling_slows_down_and_rests_while_hidden(signed_in: Watched) -> None:
    page = signed_in.page
    page.clock.install()
    signed_in.open("/indexes")
    expect(page.locator("tr", has_text="search_novel")).to_be_visible()
    signed_in.rests()

    def asked_within(seconds: int) -> int:
        before = len(signed_in.requests)
        page.clock.run_for(seconds * 1000)
        signed_in.rests()
        return len([url for url in signed_in.requests[before:] if "/api/v1/tools" in url])

    def seen(hidden: str) -> None:
        page.evaluate(
            "hidden => { Object.defineProperty(document, 'hidden',"
            " { value: hidden === 'yes', configurable: true });"
            " document.dispatchEvent(new Event('visibilitychange')); }",
            hidden,
        )

    assert asked_within(6) == 1
    assert asked_within(10) == 0
    assert asked_within(6) == 1
    seen("yes")
    assert asked_within(300) == 0
    with page.expect_request("**/api/v1/tools?*"):
        seen("no")
    assert asked_within(6) == 1
