"""Asking: hits are exact to the character, why sums up, and what is late or refused is told."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Route, expect

from tests.builders import english, planted
from tests.console.conftest import Watched, api
from tests.console.documents import COMETS, PLACES, VIOLIN
from tests.e2e.running import Tenant

# As code points, whatever the browser counts in.
_MARKED = """() => {
  const pieces = [...document.querySelectorAll('.text .hit')];
  return [Number(pieces[0]?.dataset.start), Number(pieces.at(-1)?.dataset.end),
          pieces.map(piece => piece.textContent).join('')];
}"""


def asked(watched: Watched, query: str, more: str = "") -> None:
    watched.open(f"/search?q={quote(query)}{more}")
    expect(watched.page.locator(".hitcard").first).to_be_visible()


@pytest.mark.parametrize("query", PLACES)
def test_every_hit_is_marked_exactly_where_it_is(
    signed_in: Watched, tenant: Tenant, query: str
) -> None:
    with signed_in.page.expect_response("**/search/explain") as reported:
        asked(signed_in, query)
    answer = reported.value.json()
    cards = signed_in.page.locator(".hitcard .place")
    assert cards.count() == len(answer["results"]) > 0
    places = {hit["chunk"]["json_pointer"] for hit in answer["results"]}
    assert PLACES[query][0] in places
    for at, hit in enumerate(answer["results"]):
        cards.nth(at).click()
        chunk = hit["chunk"]
        expect(
            signed_in.page.locator(f".text .hit[data-start='{chunk['char_start']}']")
        ).to_be_visible()
        start, end, text = signed_in.page.evaluate(_MARKED)
        assert (start, end, text) == (chunk["char_start"], chunk["char_end"], chunk["chunk_text"])
    assert not signed_in.errors
    signed_in.look(f"search-{len(query)}")


def test_strings_that_were_not_searched_are_counted(visitor: Watched, own_tenant: Tenant) -> None:
    table = own_tenant.table(
        {"text": english(5_500, 3) + " A zither.", "notes": ["zither", "lute"]}
    )
    own_tenant.ready(own_tenant.tool(table, search_config={"chunk_threshold": 100}))
    visitor.sign_in(own_tenant.key)
    asked(visitor, "zither")
    expect(visitor.page.get_by_role("status").first).to_contain_text("2 strings not searched")


# Whether the first marked word of the hit stands in the upper half of what is seen of its text.
_SEEN = """() => {
  const box = document.querySelector('.scroller').getBoundingClientRect();
  const mark = document.querySelector('.text mark.hit').getBoundingClientRect();
  return mark.top >= box.top && mark.bottom <= box.top + box.height / 2;
}"""


def test_what_was_found_is_scrolled_to_also_in_documents(
    visitor: Watched, own_tenant: Tenant
) -> None:
    """It stands at the end of a chunk of 6,000 characters."""
    text = english(5_500, 3) + " The zither was tuned. " + english(9_000, 4)
    table = own_tenant.table({"text": text})
    size = {"chunk_threshold": 100, "chunk_size": 6000, "chunk_overlap": 0}
    own_tenant.ready(own_tenant.tool(table, name="search_long", search_config=size))
    visitor.sign_in(own_tenant.key)
    asked(visitor, "zither", "&strategy=keyword")
    page = visitor.page
    for where in ("search", "documents"):
        mark = page.locator(".text mark.hit").first
        expect(mark).to_have_text(re.compile("zither"))
        expect(mark).to_have_class(re.compile("flash"))
        assert page.evaluate(_SEEN), where
        expect(page.locator(".text span.flash")).to_have_count(0)
        visitor.look(f"first-mark-{where}")
        page.keyboard.press("o")


def test_the_text_before_is_grey_while_another_one_loads(
    signed_in: Watched, tenant: Tenant
) -> None:
    asked(signed_in, next(iter(PLACES)))
    page = signed_in.page
    expect(page.locator(".pane[aria-busy=false] .hit").first).to_be_visible()
    held: list[Route] = []
    page.route("**/text", lambda route: held.append(route))  # noqa: PLW0108
    here = page.locator(".hitcard code").first.inner_text()
    page.locator(".hitcard").filter(has_not_text=here).locator(".place").first.click()
    expect(page.locator(".pane[aria-busy=true]")).to_have_css("opacity", "0.4")
    with page.expect_response("**/text"):
        held[0].continue_()
    expect(page.locator(".pane[aria-busy=false]")).to_have_css("opacity", "1")


def test_on_a_telephone_a_hit_leads_to_its_text(signed_in: Watched) -> None:
    page = signed_in.page
    page.set_viewport_size({"width": 320, "height": 700})
    asked(signed_in, next(iter(PLACES)))
    expect(page.locator(".text .hit").first).to_be_attached()
    expect(page.locator(".placehead")).not_to_be_in_viewport()
    page.locator(".hitcard .place").nth(1).click()
    expect(page.locator(".placehead")).to_be_in_viewport()
    expect(page.locator(".text mark").first).to_be_in_viewport()
    signed_in.look("picked-320")


def test_why_a_hit_is_there_sums_to_its_score(signed_in: Watched) -> None:
    asked(signed_in, next(iter(PLACES)))
    signed_in.page.keyboard.press("e")
    why = signed_in.page.locator(".why")
    expect(why).to_be_visible()
    rows = why.locator("tbody tr:not(.sum)")
    parts = [float(text.replace("−", "-")) for text in rows.locator("td.right").all_inner_texts()]
    total = float(why.locator(".sum td.right").inner_text())
    assert abs(sum(parts) - total) < 0.0001 * (len(parts) + 1)
    signed_in.look("why")


def test_hits_are_walked_with_the_keyboard(signed_in: Watched) -> None:
    asked(signed_in, next(iter(PLACES)))
    pressed = signed_in.page.locator(".place[aria-pressed=true]")
    for _ in range(2):
        signed_in.page.keyboard.press("j")
    expect(signed_in.page.locator(".hitcard").nth(2)).to_have_class(re.compile("picked"))
    signed_in.page.keyboard.press("k")
    expect(signed_in.page.locator(".hitcard").nth(1)).to_have_class(re.compile("picked"))
    assert pressed.count() == 1
    signed_in.page.keyboard.press("/")
    expect(signed_in.page.get_by_label("Question")).to_be_focused()
    signed_in.page.keyboard.type("jk")  # letters are letters in a field
    expect(signed_in.page.locator(".hitcard").nth(1)).to_have_class(re.compile("picked"))


def test_a_stopped_search_is_not_answered_later(signed_in: Watched) -> None:
    held: list[Route] = []
    signed_in.page.route("**/search/explain", lambda route: held.append(route))  # noqa: PLW0108
    signed_in.open(f"/search?q={quote('comets')}")
    signed_in.page.get_by_role("button", name="Stop").first.click()
    expect(signed_in.page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    signed_in.page.unroute("**/search/explain")
    asked(signed_in, "violin honey varnish")
    expect(signed_in.page.locator(".hitcard").first).to_contain_text("violin")


def test_the_answer_of_an_older_question_is_ignored(signed_in: Watched) -> None:
    held: list[Route] = []

    def hold_first(route: Route) -> None:
        if "comets" in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    signed_in.page.route("**/search/explain", hold_first)
    signed_in.open(f"/search?q={quote('comets')}")
    expect(signed_in.page.get_by_role("button", name="Stop").first).to_be_visible()
    asked(signed_in, "violin honey varnish")
    expect(signed_in.page.locator(".excerpt").first).to_contain_text("violin")


def test_a_question_without_hits_says_why(signed_in: Watched) -> None:
    signed_in.open("/search?q=zzzqqq&strategy=keyword")
    expect(signed_in.page.locator(".empty")).to_contain_text("no_match")


def test_passages_for_a_prompt_show_their_budget(signed_in: Watched) -> None:
    signed_in.open(f"/search?tab=retrieve&q={quote(next(iter(PLACES)))}")
    expect(signed_in.page.locator(".prose").first).to_contain_text("comets")
    expect(signed_in.page.locator(".budget .fill").first).to_be_visible()


def test_the_request_for_a_terminal_names_no_key(signed_in: Watched, tenant: Tenant) -> None:
    asked(signed_in, next(iter(PLACES)))
    signed_in.page.get_by_role("button", name="Copy as curl").click()
    copied = signed_in.page.evaluate("navigator.clipboard.readText()")
    assert "$KEY" in copied
    assert "cs_" not in copied


def test_a_passage_that_has_moved_is_found_again_in_the_whole_string(
    visitor: Watched, own_tenant: Tenant
) -> None:
    """250,000 characters stand before it meanwhile: it is in another window, behind 🐡."""
    text = planted(english(14_000, 9), COMETS, 7_000)
    table = own_tenant.table({"text": text})
    tool = own_tenant.tool(table, name="search_moved")
    own_tenant.ready(tool)
    before = "🐡" + "Nothing of this is about it. " * 9_000
    visitor.sign_in(own_tenant.key)

    def set_text(value: str) -> None:
        path = f"/api/v1/tables/{table}/data?pointer=/text"
        api(own_tenant, "PUT", path, json=value)

    def old_answer(route: Route) -> None:
        route.fulfill(json=answer)

    with visitor.page.expect_response("**/search/explain") as reported:
        asked(visitor, "comets")
    answer = reported.value.json()
    chunk = answer["results"][0]["chunk"]
    visitor.page.route("**/search/explain", old_answer)
    set_text(before + text)
    visitor.page.reload()
    bar = visitor.page.locator(".pane .bar.warn")
    expect(bar).to_contain_text("found in the live text")
    expect(visitor.page.locator(".text .hit").first).to_be_visible()
    start, end, marked = visitor.page.evaluate(_MARKED)
    assert marked == chunk["chunk_text"]
    assert (start, end) == (len(before) + chunk["char_start"], len(before) + chunk["char_end"])
    visitor.look("moved")
    set_text(before * 2)
    visitor.page.reload()
    expect(visitor.page.locator(".pane .bar.warn")).to_contain_text("gone")


def test_project_search_is_switched_on_where_it_is_missed(
    visitor: Watched, own_tenant: Tenant
) -> None:
    own_tenant.table({"text": "The lighthouse keeper counted nine comets. " * 30})
    visitor.sign_in(own_tenant.key)
    visitor.open("/search?tool=project&q=comets")
    page = visitor.page
    page.get_by_role("button", name="Switch on").wait_for()
    visitor.look("project-off")
    assert visitor.axe() == []
    page.get_by_role("button", name="Switch on").click()
    expect(page.locator(".hitcard").first).to_contain_text("comets")
    assert not visitor.errors


def test_health_knows_how_long_the_questions_of_this_tab_took(signed_in: Watched) -> None:
    page = signed_in.page
    signed_in.open("/health")
    expect(page.get_by_text("Queue").first).to_be_visible()
    assert page.get_by_text("This tab").count() == 0
    asked(signed_in, "comets")
    signed_in.open("/health")
    expect(page.get_by_text(re.compile("^p50 .* ms, p95 .* ms of 1 question$"))).to_be_visible()
    signed_in.look("health-tab")


def test_chapters_are_called_by_their_titles(visitor: Watched, own_tenant: Tenant) -> None:
    """Beside the key in the tree, and on the hits of a tool, also compared and judged."""
    chapters = [
        {"title": "第一章 灯塔", "text": english(1_200, 3) + COMETS},
        {"title": "Second", "text": english(1_200, 4)},
    ]
    table = own_tenant.table({"chapters": chapters})
    own_tenant.ready(own_tenant.tool(table, search_config={"chunk_threshold": 100}))
    page = visitor.sign_in(own_tenant.key)
    asked(visitor, COMETS)
    expect(page.locator(".hitcard").first).to_contain_text("第一章 灯塔")
    expect(page.locator(".placehead h2")).to_have_text("第一章 灯塔")
    visitor.look("titles-search")
    page.keyboard.press("o")
    expect(page.get_by_role("treeitem", name="0 第一章 灯塔")).to_be_visible()
    visitor.look("titles-tree")
    assert visitor.axe() == []
    visitor.open(f"/evaluate?q={quote(COMETS)}")
    expect(page.locator("table.compare strong").first).to_have_text("第一章 灯塔")
    visitor.look("titles-compare")
    visitor.open(f"/evaluate?q={quote(COMETS)}&judge=1")
    page.get_by_role("checkbox", name="blind").uncheck()
    expect(page.get_by_role("region", name="Judge", exact=True)).to_contain_text("第一章 灯塔")
    assert not visitor.errors


def test_an_opened_hit_is_seen_in_the_tree(visitor: Watched, own_tenant: Tenant) -> None:
    """Also one that is not among the first members."""
    strings = [f"note {number}" for number in range(3_000)]
    places = {150: COMETS, 2_345: VIOLIN}
    for at, sentence in places.items():
        strings[at] = english(1_200, at) + sentence
    table = own_tenant.table({"notes": strings})
    own_tenant.ready(own_tenant.tool(table, search_config={"chunk_threshold": 100}))
    page = visitor.sign_in(own_tenant.key)
    for at, sentence in places.items():
        asked(visitor, sentence)
        page.keyboard.press("o")
        row = page.get_by_role("treeitem", selected=True)
        expect(row).to_have_attribute("data-pointer", f"/notes/{at}")
        expect(row).to_be_in_viewport()
        below = "row => row.closest('.treebox').getBoundingClientRect().bottom"
        assert row.evaluate("row => row.getBoundingClientRect().bottom") <= row.evaluate(below)
        visitor.look(f"opened-{at}")
    assert not visitor.errors
