"""What a platform engineer does: load, make a tool, watch its index, keys, agents, health."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.builders import english
from tests.console.conftest import LANGUAGES, THEMES, Watched, api
from tests.e2e.running import Tenant

DOCUMENT = {"articles": [{"title": "Melons", "content": english(12_000, 3)}]}


def field(page: Page, name: str) -> Any:
    return page.locator(f"dialog[open] [name={name}]")


def test_from_nothing_to_the_first_question(visitor: Watched, own_tenant: Tenant) -> None:
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/overview")
    page.locator("[name=json]").fill('{"broken": ')
    page.get_by_role("button", name="Make the table").click()
    expect(page.get_by_text("This is not JSON.")).to_be_visible()
    page.locator("[name=json]").fill(json.dumps({**DOCUMENT, "big": 9223372036854775807}))
    page.get_by_role("button", name="Make the table").click()
    step = page.locator("li[aria-current=step]")
    expect(step).to_contain_text("2 · A Search Tool")
    assert visitor.axe() == []
    step.get_by_role("button").click()
    field(page, "name").fill("search_melons")
    page.locator("dialog[open] button.primary").click()
    expect(page.locator("li[aria-current=step]")).to_contain_text("3 · A question")
    row = page.locator("tr", has_text="search_melons")
    expect(row).to_contain_text("ready", timeout=60_000)
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
    own_tenant.table(DOCUMENT)
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
    expect(page.locator("main")).to_contain_text("1 of 1 chunk", timeout=60_000)


def test_an_index_is_followed_rebuilt_rolled_back_and_emptied(
    visitor: Watched, own_tenant: Tenant
) -> None:
    tool = own_tenant.tool(own_tenant.table(DOCUMENT), name="search_melons", json_path="")[
        "tool_id"
    ]
    page = visitor.sign_in(own_tenant.key)
    visitor.open(f"/indexes/{tool}")
    expect(page.locator("main")).to_contain_text("ready", timeout=60_000)
    expect(page.locator("td", has_text="/articles/0/content")).to_be_visible()
    page.get_by_role("button", name="Rebuild").click()
    expect(page.locator("dialog[open]")).to_contain_text("1 string, 16 chunks")
    act = page.locator("dialog[open] button.primary")
    expect(act).to_be_disabled()
    page.locator("dialog[open] input").fill("search_melons")
    act.click()
    expect(page.locator(".said")).to_contain_text("Generation 2")
    expect(page.locator("dl.facts")).to_contain_text("_g2", timeout=60_000)
    page.get_by_role("button", name="Roll back").click()
    page.locator("dialog[open] button.primary").click()
    expect(page.locator(".said")).to_contain_text("Generation 1")
    page.get_by_role("button", name="Empty").click()
    page.locator("dialog[open] input").fill("search_melons")
    page.locator("dialog[open] button.primary").click()
    expect(page.locator("main")).to_contain_text("INDEX_DELETED")
    assert visitor.errors == []


def test_given_up_strings_are_tried_again(visitor: Watched, own_tenant: Tenant) -> None:
    table = own_tenant.table(DOCUMENT)
    tool = own_tenant.tool(table, name="search_melons", json_path="")
    own_tenant.ready(tool)
    own_tenant.stack.sql(
        "UPDATE node SET state = 'quarantined', attempt = 8, last_error = jsonb_build_object("
        "'code', 'EMBEDDING_REJECTED', 'message', 'the provider refuses it', 'retryable', false,"
        " 'at', now()) WHERE table_id = :table",
        table=table,
    )
    page = visitor.sign_in(own_tenant.key)
    visitor.open(f"/indexes/{tool['tool_id']}")
    row = page.locator("tr", has_text="/articles/0/content")
    expect(row).to_contain_text("EMBEDDING_REJECTED")
    expect(row).to_contain_text("you")
    visitor.look("indexes-quarantined")
    assert visitor.axe() == []
    row.get_by_role("button", name="Try again").click()
    expect(page.locator(".said")).to_contain_text("1 string is on the way again")
    expect(page.locator("main")).to_contain_text("ready", timeout=60_000)


def test_a_key_is_made_shown_once_rotated_and_revoked(visitor: Watched, own_tenant: Tenant) -> None:
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/keys")
    page.get_by_role("button", name="Make a key").click()
    field(page, "name").fill("agent builder")
    page.locator("dialog[open] button.primary").click()
    # The session's own key ends in eight hours, and makes none that lives longer.
    expect(page.locator("dialog[open] [role=alert]")).to_contain_text("PERMISSION_DENIED")
    field(page, "authority").fill(own_tenant.key)
    page.locator("dialog[open] button.primary").click()
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
    tool = own_tenant.tool(own_tenant.table(DOCUMENT), name="search_melons", json_path="")
    own_tenant.ready(tool)
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/agents")
    page.get_by_role("button", name="Make an MCP instance").click()
    field(page, "name").fill('support "eu"')
    field(page, "authority").fill(own_tenant.key)
    page.locator("dialog[open] button.primary").click()
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
    expect(page.locator("main")).to_contain_text("tools/list: 1 tool")
    expect(page.locator("main")).to_contain_text("search_melons")
    page.locator("label", has_text="search_melons").locator("input").click()
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("main")).to_contain_text("tools/list: 0 tools")
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
    told = {**known, "status": "indexing", "indexed_chunks_count": 100}
    signed_in.page.route(f"**{path}", lambda route: route.fulfill(json=told))
    page = signed_in.open(f"/indexes/{tool['id']}")
    expect(page.locator(".progress")).to_be_visible()
    expect(page.locator("main")).to_contain_text("100 of 152 chunks")
    assert "%" not in page.locator("main").inner_text()
    error = {"code": "EMBEDDING_UNAVAILABLE", "message": "it throttles", "retryable": True}
    told |= {"status": "stalled", "last_error": {**error, "at": "2026-11-22T10:14:02Z"}}
    expect(page.get_by_role("alert")).to_contain_text("Nothing has moved since")
    expect(page.locator(".progress")).to_have_count(0)
    expect(page.locator("main")).to_contain_text("EMBEDDING_UNAVAILABLE")


def test_polling_slows_down_and_rests_while_hidden(signed_in: Watched) -> None:
    page = signed_in.page
    page.clock.install()
    signed_in.open("/indexes")
    expect(page.locator("tr", has_text="search_novel")).to_be_visible()
    page.wait_for_load_state("networkidle")

    def asked_within(seconds: int) -> int:
        before = len(signed_in.requests)
        page.clock.run_for(seconds * 1000)
        page.wait_for_load_state("networkidle")
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


PAGES = ("overview", "indexes", "agents", "keys", "health", "evaluate")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_in_every_look(signed_in: Watched, tenant: Tenant, name: str) -> None:
    page = signed_in.page
    for language in LANGUAGES:
        for theme in THEMES:
            signed_in.open(f"/{name}")
            signed_in.set(language, theme)
            expect(page.locator(".bone")).to_have_count(0)
            page.wait_for_load_state("networkidle")
            assert signed_in.axe() == []
            signed_in.look(f"{name}-{language}-{theme}")
    page.set_viewport_size({"width": 320, "height": 700})
    assert signed_in.fits()
    signed_in.look(f"{name}-320")
    assert signed_in.errors == []
