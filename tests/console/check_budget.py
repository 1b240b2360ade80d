"""What of the console's budget can be counted. What is timed: ``python -m bench console``."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.console.check_every_page import QUESTION
from tests.console.conftest import Watched, api
from tests.e2e.running import Tenant

VIEWS = {
    "/overview": "table.overview",
    f"/search?q={QUESTION}": ".text .hit",
    f"/search?tab=retrieve&q={QUESTION}": ".prose",
    "/documents": "tbody tr",
    "/documents/TABLE?p=/books/0/text": ".text",
    "/evaluate": ".panel",
    f"/evaluate?q={QUESTION}": "table.compare",
    "/indexes": "tbody tr",
    "/indexes/TOOL": "dl.facts",
    "/replace": "form",
    f"/replace?find=comets&by={quote('彗星')}": ".match-row",
    "/agents": "main",
    "/keys": "tbody tr",
    "/health": "dl.facts",
}
MOST_REQUESTS = 3
# View → how many it may ask for, and why they are more.
MORE = {
    "/documents/TABLE?p=/books/0/text": 5  # each level of the tree on the way to a string
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_asks_three_times_at_most(signed_in: Watched, tenant: Tenant, view: str) -> None:
    [table] = api(tenant, "GET", "/api/v1/tables")["tables"]
    [tool] = api(tenant, "GET", "/api/v1/tools")["tools"]
    address = view.replace("TABLE", str(table["id"])).replace("TOOL", str(tool["id"]))
    # Lists of tables and tools are read once a tab. Then a page that asks for nothing.
    page = signed_in.open("/replace")
    signed_in.rests()
    signed_in.open("/states")
    signed_in.requests.clear()
    signed_in.open(address)
    expect(page.locator(VIEWS[view]).first).to_be_visible()
    signed_in.rests()
    asked = [url.removeprefix(signed_in.base_url) for url in signed_in.requests]
    # The frame asks how the whole is after two seconds, whatever the view is.
    asked = [path for path in asked if view == "/health" or not path.endswith("/health")]
    assert asked or view == "/replace"
    assert len(asked) <= MORE.get(view, MOST_REQUESTS), asked


def test_nothing_is_left_of_questions_that_were_asked(
    signed_in: Watched, tenant: Tenant, context: BrowserContext
) -> None:
    """Nodes and handlers of the page, those that nothing shows included; texts were read before."""
    page = signed_in.page
    [table] = api(tenant, "GET", "/api/v1/tables")["tables"]
    for pointer in ("/books/0/text", "/books/1/text"):
        signed_in.open(f"/documents/{table['id']}?p={pointer}")
        expect(page.locator(".text")).to_be_visible()
        signed_in.rests()
    debugger = context.new_cdp_session(page)

    def held(first: int, last: int) -> dict[str, int]:
        for number in range(first, last):
            with page.expect_response("**/search/explain"):
                signed_in.open(f"/search?q=comets%20{number}")
            expect(page.locator(".hitcard").first).to_be_visible()
        signed_in.rests()
        for _ in range(4):
            debugger.send("HeapProfiler.collectGarbage")
        return dict(debugger.send("Memory.getDOMCounters"))

    few, many = held(0, 5), held(5, 35)
    assert few["nodes"] > 100
    assert many["nodes"] < 2 * few["nodes"]
    assert many["jsEventListeners"] < 2 * few["jsEventListeners"]
