"""A citation at its place, in every state that it can be in."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.builders import english, planted
from tests.console.conftest import LANGUAGES, Watched, api
from tests.console.documents import COMETS
from tests.e2e.running import Tenant

CITE = "c.a1b2"
SAID = {
    "current": ("good", "as it was cited.", "与引用时一致。"),
    "moved": ("note", "at another place", "位置已移动"),
    "changed": ("warn", "has changed", "已修改"),
    "gone": ("bad", "is not there any more", "已不存在"),
}
WAS = "The keeper counted eight comets."


def answered(tenant: Tenant, status: str) -> dict[str, Any]:
    """What the API says of a citation of COMETS in this state."""
    if status == "gone":
        return {"cite": CITE, "status": status}
    [table] = api(tenant, "GET", "/api/v1/tables")["tables"]
    body = {"json_pointer": "/books/0/text", "start": 0, "end": 10_000}
    text = api(tenant, "POST", f"/api/v1/tables/{table['id']}/text", json=body)["text"]
    span = {"start": text.index(COMETS), "end": text.index(COMETS) + len(COMETS)}
    place = {"table_id": table["id"], "collection": "search_novel", "pointer": "/books/0/text"}
    about = {"cite": CITE, "status": status, "revision": 1, "text": COMETS, "cited": span}
    return about | {"place": place | span} | ({"was": WAS} if status == "changed" else {})


@pytest.mark.parametrize("status", SAID)
def test_a_citation_opens_at_its_place(signed_in: Watched, tenant: Tenant, status: str) -> None:
    page = signed_in.page
    kind, *said = SAID[status]
    about = answered(tenant, status)
    page.route(f"**/api/v1/citations/{CITE}", lambda route: route.fulfill(json=about))
    for language, words in zip(LANGUAGES, said, strict=True):
        signed_in.set(language, "light")
        signed_in.open(f"/cite/{CITE}")
        expect(page.locator(f".bar.{kind}")).to_contain_text(words)
        if status == "gone":
            expect(page.locator(".text")).to_have_count(0)
        else:
            expect(page.locator(".text .hit")).to_be_in_viewport()
            expect(page.locator(".text .hit")).to_have_text(COMETS)
        expect(page.get_by_text(WAS)).to_have_count(int("was" in about))
        signed_in.rests()
        signed_in.look(f"cite-{status}-{language}")
        assert signed_in.axe() == []
        signed_in.page.set_viewport_size({"width": 360, "height": 700})
        assert signed_in.fits()
        signed_in.page.set_viewport_size({"width": 1280, "height": 800})
    assert not signed_in.errors


def test_a_changed_text_whose_version_is_not_kept_says_so(
    signed_in: Watched, tenant: Tenant
) -> None:
    about = answered(tenant, "changed")
    del about["was"]
    signed_in.page.route("**/api/v1/citations/*", lambda route: route.fulfill(json=about))
    signed_in.open(f"/cite/{CITE}")
    expect(signed_in.page.locator(".bar.warn")).to_contain_text("no version that is kept")


def test_a_citation_says_what_became_of_its_text(visitor: Watched, own_tenant: Tenant) -> None:
    before = english(12_000, 4)
    document = {"letters": [planted(before, COMETS, 5_000)]}
    table = own_tenant.table(document)
    own_tenant.ready(own_tenant.tool(table, name="search_letters", json_path=""))
    start = document["letters"][0].index(COMETS)
    place = {"collection": "search_letters", "pointer": "/letters/0", "start": start}
    wanted = {**place, "before": 0, "after": len(COMETS)}
    cite = api(own_tenant, "POST", "/api/v1/read", json=wanted)["cite"]
    page = visitor.sign_in(own_tenant.key)

    def shown(data: object, kind: str) -> None:
        if data != document:
            api(own_tenant, "PUT", f"/api/v1/tables/{table}/data", json=data)
        visitor.open("/keys")
        visitor.open(f"/cite/{cite}")
        expect(page.locator(f".bar.{kind}")).to_be_visible()

    shown(document, "good")
    expect(page.locator(".text .hit")).to_have_text(COMETS)
    shown({"letters": ["A word before. " + document["letters"][0]]}, "note")
    expect(page.locator(".text .hit")).to_have_text(COMETS)
    shown({"letters": [before]}, "warn")
    expect(page.get_by_role("region", name="As it was cited")).to_contain_text(COMETS)
    visitor.look("cite-real-changed")
    assert visitor.axe() == []
    page.get_by_role("link", name="Open in Documents").click()
    expect(page).to_have_url(re.compile(r"#/documents/\d+\?p=%2Fletters%2F0&a=\d+&b=\d+"))
    shown({"letters": []}, "bad")
    assert not visitor.errors


def test_only_an_address_elsewhere_on_the_web_is_a_link(signed_in: Watched, tenant: Tenant) -> None:
    page = signed_in.page
    about = answered(tenant, "current")
    page.route("**/api/v1/citations/*", lambda route: route.fulfill(json=about))
    link = page.get_by_role("link", name="Open where it is published")
    about["url"] = "https://example.org/letters"
    signed_in.open(f"/cite/{CITE}")
    expect(link).to_have_attribute("href", "https://example.org/letters")
    for url in ("javascript:alert(1)", f"{signed_in.base_url}/console#/cite/{CITE}"):
        about["url"] = url
        page.reload()
        expect(page.locator(".text .hit")).to_be_visible()
        expect(link).to_have_count(0)


def test_who_may_only_search_reads_what_the_citation_says(visitor: Watched, tenant: Tenant) -> None:
    path = f"/api/v1/projects/{tenant.project_id}/keys"
    made = api(tenant, "POST", path, json={"name": "reader", "scopes": ["search"]})
    about = answered(tenant, "changed")
    visitor.page.route("**/api/v1/citations/*", lambda route: route.fulfill(json=about))
    page = visitor.sign_in(made["api_key"])
    visitor.open(f"/cite/{CITE}")
    expect(page.get_by_text(COMETS)).to_be_visible()
    expect(page.get_by_text(WAS)).to_be_visible()
    expect(page.get_by_role("link", name="Open in Documents")).to_have_count(0)
    assert visitor.axe() == []


def test_a_citation_of_nothing_is_not_found(signed_in: Watched) -> None:
    page = signed_in.open("/cite")
    expect(page.locator(".empty")).to_contain_text("no citation in this address")
    signed_in.open("/cite/nothing")
    expect(page.get_by_role("alert")).to_be_visible()
