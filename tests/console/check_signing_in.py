"""Signing in, staying in, and getting out."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.console.conftest import Watched, api
from tests.e2e.running import Tenant


def console_keys(tenant: Tenant) -> list[dict[str, object]]:
    keys = api(tenant, "GET", f"/api/v1/projects/{tenant.project_id}/keys?kind=console")["keys"]
    return [key for key in keys if key["revoked_at"] is None]


def test_the_page_makes_a_key_of_its_own_and_forgets_the_pasted_one(
    visitor: Watched, own_tenant: Tenant
) -> None:
    page = visitor.sign_in(own_tenant.key)
    kept = page.evaluate("JSON.stringify(sessionStorage) + JSON.stringify(localStorage)")
    assert own_tenant.key not in kept
    [made] = console_keys(own_tenant)
    assert made["scopes"] == ["search", "manage", "replace"]
    page.reload()
    page.locator("nav").wait_for()
    assert not visitor.errors


def test_a_wrong_key_is_called_so(visitor: Watched) -> None:
    visitor.open()
    for language, reported in (("en", "This key is not accepted"), ("zh", "密钥无效")):
        visitor.set(language, "light")
        visitor.page.locator("[name=key]").fill("cs_wrong")
        visitor.page.locator("form button.primary").click()
        expect(visitor.page.locator("[role=alert] strong")).to_have_text(reported)


def test_an_address_with_a_code_signs_in_once(
    visitor: Watched, new_tab: Callable[[], Watched], own_tenant: Tenant
) -> None:
    code = api(own_tenant, "POST", "/api/v1/console/codes")["code"]
    page = visitor.page
    page.goto(f"{visitor.base_url}/console#/once/{code}")
    name = api(own_tenant, "GET", "/api/v1/whoami")["project"]["name"]
    expect(page.locator("h1")).to_have_text(f"Sign in to the project {name}?")
    expect(page.locator("nav")).to_have_count(0)
    assert page.evaluate("sessionStorage.length") == 0
    assert visitor.axe() == []
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.locator("nav").wait_for()
    assert code not in page.url
    assert not any(code in url for url in visitor.requests if "#" not in url)
    kept = page.evaluate("JSON.stringify(sessionStorage) + JSON.stringify(localStorage)")
    assert code not in kept
    assert len(console_keys(own_tenant)) == 1
    with page.expect_response(lambda response: response.request.method == "DELETE"):
        page.get_by_role("button", name="Sign out").click()
    assert console_keys(own_tenant) == []
    again = new_tab()
    again.open()
    for language, reported in (("en", "prints a new address"), ("zh", "会显示新地址")):
        again.set(language, "light")
        again.page.goto(f"{visitor.base_url}/console#/once/{code}")
        expect(again.page.get_by_role("alert")).to_contain_text(f"make serve {reported}")
        again.look(f"once-used-{language}")
        assert code not in again.page.url
    assert not visitor.errors + again.errors


def test_an_address_of_somebody_else_is_refused(visitor: Watched, own_tenant: Tenant) -> None:
    code = api(own_tenant, "POST", "/api/v1/console/codes")["code"]
    page = visitor.page
    page.goto(f"{visitor.base_url}/console#/once/{code}")
    with page.expect_response(lambda response: response.request.method == "DELETE"):
        page.get_by_role("button", name="Do not sign in").click()
    page.locator("[name=key]").wait_for()
    assert page.evaluate("sessionStorage.length") == 0
    assert console_keys(own_tenant) == []


def opens(tenant: Tenant, key: str, path: str = "/api/v1/whoami") -> int:
    answered = tenant.stack.http.get(path, headers={"authorization": f"Bearer {key}"})
    return int(answered.status_code)


def made_in_console(visitor: Watched, path: str, act: str, name: str) -> str:
    page = visitor.open(path)
    page.get_by_role("button", name=act).click()
    page.locator("dialog[open] [name=name]").fill(name)
    page.locator("dialog[open] button.primary").click()
    page.get_by_role("button", name="Reveal").click()
    return str(page.locator("code.secret").inner_text())


def lists(tenant: Tenant, key: str) -> int:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"authorization": f"Bearer {key}"}
    return int(tenant.stack.http.post("/mcp", headers=headers, json=body).status_code)


def test_an_agent_goes_on_when_the_person_signs_out(visitor: Watched, own_tenant: Tenant) -> None:
    page = visitor.sign_in(own_tenant.key)
    agent = made_in_console(visitor, "/agents", "Make an MCP instance", "support")
    assert lists(own_tenant, agent) == 200
    key = made_in_console(visitor, "/keys", "Make a key", "reports")
    page.get_by_role("button", name="Sign out").click()
    dialog = page.locator("dialog[open]")
    expect(dialog).to_contain_text("end with it: reports.")
    with page.expect_response(lambda response: response.request.method == "DELETE"):
        dialog.get_by_role("button", name="Sign out").click()
    page.locator("[name=key]").wait_for()
    assert (lists(own_tenant, agent), opens(own_tenant, key)) == (200, 401)


def test_who_idles_ends_no_key_that_is_in_use(visitor: Watched, own_tenant: Tenant) -> None:
    visitor.page.clock.install()
    page = visitor.sign_in(own_tenant.key)
    key = made_in_console(visitor, "/keys", "Make a key", "reports")
    with page.expect_response(lambda response: "kind=all" in response.url):
        page.clock.fast_forward("31:00")
    page.locator("[name=key]").wait_for()
    assert page.evaluate("sessionStorage.length") == 0
    assert opens(own_tenant, key) == 200


def test_who_is_signed_in_stays_who_they_are(
    visitor: Watched, own_tenant: Tenant, tenant: Tenant
) -> None:
    page = visitor.sign_in(own_tenant.key)
    code = api(tenant, "POST", "/api/v1/console/codes")["code"]
    with page.expect_event("framenavigated"):
        page.evaluate("code => { location.hash = `/once/${code}`; }", code)
    expect(page.locator(".project")).to_have_attribute("title", f"Project {own_tenant.project_id}")
    assert code not in page.url
    api(tenant, "POST", "/api/v1/console/sign-in", json={"code": code})  # nobody has used it


def test_a_second_tab_is_signed_in_and_both_are_signed_out(
    visitor: Watched, new_tab: Callable[[], Watched], own_tenant: Tenant
) -> None:
    visitor.sign_in(own_tenant.key)
    second = new_tab()
    second.open()
    second.page.locator("nav").wait_for()
    assert len(console_keys(own_tenant)) == 1
    with second.page.expect_response(lambda response: response.request.method == "DELETE"):
        second.page.get_by_role("button", name="Sign out").click()
    second.page.locator("[name=key]").wait_for()
    visitor.page.locator("[name=key]").wait_for()
    assert visitor.page.evaluate("sessionStorage.length") == 0
    assert console_keys(own_tenant) == []


def test_a_key_that_is_refused_in_the_middle_leads_back_to_the_place(
    visitor: Watched, own_tenant: Tenant
) -> None:
    table = own_tenant.table({"text": "before"})
    page = visitor.sign_in(own_tenant.key)
    visitor.open(f"/documents/{table}?p=/text")
    expect(page.locator(".text")).to_have_text("before")
    [made] = console_keys(own_tenant)
    keys = f"/api/v1/projects/{own_tenant.project_id}/keys"
    api(own_tenant, "DELETE", f"{keys}/{made['id']}")
    page.get_by_role("button", name="Versions").click()
    page.locator("[name=key]").wait_for()
    expect(page.locator(".bar.note")).to_be_visible()
    page.locator("[name=key]").fill(own_tenant.key)
    page.locator("form button.primary").click()
    expect(page.locator(".text")).to_have_text("before")
    assert page.url.endswith(f"/documents/{table}?p=/text")


def test_half_an_hour_without_a_touch_signs_out_and_revokes(
    visitor: Watched, own_tenant: Tenant
) -> None:
    visitor.page.clock.install()
    page = visitor.sign_in(own_tenant.key)
    page.clock.fast_forward("29:00")
    page.keyboard.press("Shift")
    page.clock.fast_forward("29:00")
    expect(page.locator("nav")).to_be_visible()
    with page.expect_response(lambda response: response.request.method == "DELETE"):
        page.clock.fast_forward("31:00")
    page.locator("[name=key]").wait_for()
    assert console_keys(own_tenant) == []


def test_a_touch_in_one_tab_keeps_the_other_signed_in(
    visitor: Watched, new_tab: Callable[[], Watched], own_tenant: Tenant
) -> None:
    visitor.page.clock.install()
    visitor.sign_in(own_tenant.key)
    second = new_tab()
    second.open()
    second.page.locator("nav").wait_for()
    visitor.page.clock.fast_forward("29:00")
    visitor.page.evaluate(
        "() => { window.heard = new Promise(resolve =>"
        " new BroadcastChannel('context-search').addEventListener('message', resolve)); }"
    )
    second.page.keyboard.press("Shift")
    visitor.page.evaluate("window.heard.then(() => 1)")
    visitor.page.clock.fast_forward("20:00")
    expect(visitor.page.locator("nav")).to_be_visible()
