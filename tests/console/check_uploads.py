"""Files become documents: large ones by upload, texts by their chapters."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.console.conftest import Watched, api
from tests.e2e.running import Tenant
from tests.texts import CHINESE, MARKDOWN, TEXTS


@pytest.mark.parametrize(
    ("name", "content"),
    [("风起.txt", CHINESE.encode("gb18030")), ("guide.md", MARKDOWN.encode())],
    ids=["gb18030", "markdown"],
)
def test_a_text_becomes_a_document_with_its_chapters(
    visitor: Watched, own_tenant: Tenant, name: str, content: bytes
) -> None:
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/documents")
    chosen = {"name": name, "mimeType": "text/plain", "buffer": content}
    page.locator("input[type=file]").set_input_files(chosen)
    page.locator(".bar.good a").click()
    expect(page.get_by_role("treeitem").filter(has_text="chapters")).to_be_visible()
    page.get_by_role("treeitem").filter(has_text="chapters").click()
    visitor.look(f"chapters-{name}")
    [table] = api(own_tenant, "GET", "/api/v1/tables")["tables"]
    [document] = [document for file, _, document in TEXTS if file == name]
    assert table["name"] == document["title"]
    assert api(own_tenant, "GET", f"/api/v1/tables/{table['id']}/data") == document


def test_a_large_text_is_dropped_and_goes_by_upload(visitor: Watched, own_tenant: Tenant) -> None:
    """What a page can drop on another is made in it: a file of nine million characters."""
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/documents")
    page.evaluate(
        """() => {
        const given = new DataTransfer();
        given.items.add(new File(["Chapter 1\\n" + "a line\\n".repeat(1_300_000)], "n.txt"));
        const drop = new DragEvent("drop", { dataTransfer: given, bubbles: true });
        document.querySelector("main h1").dispatchEvent(drop);
    }"""
    )
    expect(page.locator(".bar.good")).to_be_visible()
    assert any("/uploads" in url for url in visitor.requests)
    [table] = api(own_tenant, "GET", "/api/v1/tables")["tables"]
    path = f"/api/v1/tables/{table['id']}/data?pointer=/chapters/0/title"
    assert (table["name"], own_tenant("GET", path).json()) == ("n", "Chapter 1")
