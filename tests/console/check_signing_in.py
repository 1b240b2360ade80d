"""Signing in, staying in, and getting out."""

from __future__ import annotations

from collections.abc import Callable

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
