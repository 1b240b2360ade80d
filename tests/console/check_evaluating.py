"""Comparing two rankings, judging, running a judged set, applying."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from context_search.core.json_pointer import resolve, split
from context_search.ranking.measures import MEASURES
from tests.console.conftest import PLACES, Watched, api
from tests.console.documents import novel
from tests.e2e.running import Running, Tenant

QUESTION = "Who counted comets at the lighthouse?"


def ready(tenant: Tenant) -> int:
    tool = tenant.tool(tenant.table(novel()), name="search_novel", json_path="")
    tenant.ready(tool)
    return int(tool["tool_id"])


@pytest.fixture(scope="module")
def measured(stack: Running) -> Tenant:
    """A project with an indexed tool that no check changes; each names its own sets."""
    tenant = stack.project()
    ready(tenant)
    return tenant


def ask(page: Page, question: str) -> None:
    page.get_by_role("textbox", name="Question", exact=True).fill(question)
    page.get_by_role("button", name="Ask both").click()
    expect(page.locator("table.compare")).to_be_visible()


def test_a_draft_is_compared_and_applied(visitor: Watched, own_tenant: Tenant) -> None:
    tool = ready(own_tenant)
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/evaluate")
    ask(page, QUESTION)
    expect(page.get_by_role("status").filter(has_text="overlap 10 of 10")).to_be_visible()
    page.get_by_label("Strategy").select_option("semantic")
    expect(page.get_by_role("status").filter(has_text="overlap 10 of 10")).to_have_count(0)
    expect(page.locator("table.compare")).to_contain_text(re.compile("only in A|new in B|▲|▼"))
    expect(page).to_have_url(re.compile(r"q=Who"))
    visitor.look("evaluate-compared")
    assert visitor.axe() == []
    # Somebody else changes the tool: what was drafted from it is not applied over that.
    api(own_tenant, "PATCH", f"/api/v1/tools/{tool}", json={"search_config": {"top_k": 7}})
    page.get_by_role("button", name="Apply B").click()
    page.locator("dialog[open] button.primary").click()
    expect(page.get_by_text("Nothing was applied")).to_be_visible()
    assert api(own_tenant, "GET", f"/api/v1/tools/{tool}")["search_config"]["strategy"] == "hybrid"
    page.get_by_role("button", name="Apply B").click()
    page.locator("dialog[open] button.primary").click()
    expect(page.locator(".said")).to_contain_text("Applied")
    config = api(own_tenant, "GET", f"/api/v1/tools/{tool}")["search_config"]
    assert (config["strategy"], config["top_k"]) == ("semantic", 7)


def test_tools_of_other_chunks_find_the_same_place(visitor: Watched, own_tenant: Tenant) -> None:
    table = own_tenant.table(novel())
    sizes = {"search_novel": 1_000, "search_small": 400}
    for name, size in sizes.items():
        config = {"chunk_size": size}
        tool = own_tenant.tool(table, name=name, json_path="", search_config=config)
        own_tenant.ready(tool)
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/evaluate")
    page.get_by_role("combobox", name="A", exact=True).select_option("search_novel")
    page.get_by_role("combobox", name="B", exact=True).select_option("search_small")
    ask(page, QUESTION)
    expect(page.locator("table.compare tbody tr").first).to_contain_text("= same place")
    expect(page.get_by_role("status").filter(has_text="overlap")).not_to_contain_text("overlap 0")
    visitor.look("evaluate-chunks")


def test_weights_are_those_that_are_stored(visitor: Watched, own_tenant: Tenant) -> None:
    """One weight alone is none: the other is shown beside it as the API has it."""
    tool = ready(own_tenant)
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/evaluate")
    keyword, vectors = (page.get_by_role("spinbutton", name=name) for name in ("keyword", "vector"))

    def applied() -> tuple[float | None, float | None]:
        page.get_by_role("button", name="Apply B").click()
        with page.expect_response(lambda answer: answer.request.method == "PATCH"):
            page.locator("dialog[open] button.primary").click()
        expect(page.locator("dialog")).to_have_count(0)
        expect(page.get_by_role("button", name="Apply B")).to_be_disabled()
        config = api(own_tenant, "GET", f"/api/v1/tools/{tool}")["search_config"]
        return config["bm25_weight"], config["vector_weight"]

    keyword.fill("0.3")
    keyword.press("Tab")
    expect(vectors).to_have_value("0.2")
    visitor.look("evaluate-weights")
    assert applied() == (0.3, 0.2)
    vectors.fill("")
    vectors.press("Tab")
    expect(keyword).to_have_value("")
    assert applied() == (None, None)
    vectors.fill("0")
    vectors.press("Tab")
    expect(keyword).to_have_value("0.8")
    page.get_by_label("Fusion").select_option("linear")
    page.get_by_role("spinbutton", name="recency").fill("0.4")
    keyword.focus()
    assert applied() == (0.8, 0)


def test_strategies_are_named_as_in_search(visitor: Watched, measured: Tenant) -> None:
    page = visitor.sign_in(measured.key)
    visitor.set("zh", "light")
    for address, before in (("/evaluate", []), ("/search", ["同工具设置"])):
        visitor.open(address)
        choices = page.get_by_label("策略").locator("option")
        expect(choices).to_have_text([*before, "混合", "语义", "关键词"])


def lines(tenant: Tenant, name: str) -> list[dict[str, Any]]:
    kept = api(tenant, "GET", f"/api/v1/projects/{tenant.project_id}/judged-sets/{name}")
    return [json.loads(line) for line in kept["lines"].splitlines()]


def test_judging_by_keys_and_by_the_words_selected(visitor: Watched, own_tenant: Tenant) -> None:
    ready(own_tenant)
    page = visitor.sign_in(own_tenant.key)
    visitor.open("/evaluate")
    ask(page, QUESTION)
    page.get_by_role("button", name="Judge").click()
    judge = page.get_by_role("region", name="Judge", exact=True)
    page.locator("h1").click()
    page.keyboard.press("1")
    expect(judge).to_contain_text("2 of 10")
    page.get_by_role("checkbox", name="blind").uncheck()
    pointer, sentence = PLACES[QUESTION]
    expect(judge).to_contain_text(sentence)
    # The words, as a mouse would select them; 🐡 stands before them.
    page.evaluate(
        "wanted => { const piece = document.querySelector('[aria-label=Judge] .piece').firstChild;"
        " const at = piece.data.indexOf(wanted); const range = document.createRange();"
        " range.setStart(piece, at); range.setEnd(piece, at + wanted.length);"
        " getSelection().removeAllRanges(); getSelection().addRange(range); }",
        sentence,
    )
    page.keyboard.press("3")
    page.get_by_label("Name of the set").fill("first")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".said")).to_contain_text("Saved")
    expect(judge.get_by_role("heading")).to_have_text("Judge first")
    [judged] = lines(own_tenant, "first")
    [exact] = judged["relevant"]
    text: str = novel()["books"][0]["text"]
    assert exact["json_pointer"] == pointer
    assert exact["grade"] == 3
    assert text[exact["char_start"] : exact["char_end"]] == sentence
    assert [one["grade"] for one in judged["others"]] == [1]
    visitor.look("evaluate-judged")
    # Another hand saves the set: this page does not write over it.
    path = f"/api/v1/projects/{own_tenant.project_id}/judged-sets/first"
    other = json.dumps({**judged, "note": "theirs"}) + "\n"
    api(own_tenant, "PUT", path, json={"lines": other})
    page.locator("h1").click()
    page.keyboard.press("0")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Somebody has saved the set")).to_be_visible()
    assert lines(own_tenant, "first")[0]["note"] == "theirs"


def judged_file(folder: Path) -> Path:
    document = novel()
    rows = []
    for question, (pointer, sentence) in PLACES.items():
        start = str(resolve(document, split(pointer))).index(sentence)
        span = {"json_pointer": pointer, "char_start": start, "char_end": start + len(sentence)}
        rows.append({"query": question, "relevant": [span], "note": "kept"})
    rows += [{**rows[0], "query": f"{QUESTION} {number}"} for number in range(9)]
    file = folder / "judged.jsonl"
    file.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
    return file


def test_a_run_is_stopped_and_goes_on(visitor: Watched, measured: Tenant, tmp_path: Path) -> None:
    page = visitor.sign_in(measured.key)
    visitor.open("/evaluate")
    page.locator("section input[type=file]").set_input_files(judged_file(tmp_path))
    page.get_by_label("Strategy").select_option("semantic")
    held: list[Route] = []
    let_through = 6

    def first_three(route: Route) -> None:
        """Three questions are answered, both ways; the others wait."""
        nonlocal let_through
        let_through -= 1
        if let_through >= 0:
            route.continue_()
        else:
            held.append(route)

    page.route("**/search/explain", first_three)
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_text(re.compile("[1-3] of 12 questions"))).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    page.unroute("**/search/explain")
    asked = len([url for url in visitor.requests if url.endswith("/search/explain")])
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("12 of 12 questions")).to_be_visible()
    again = len([url for url in visitor.requests if url.endswith("/search/explain")]) - asked
    assert again < 24


def run_all(page: Page) -> None:
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_text("12 of 12 questions")).to_be_visible()
    figures = page.get_by_role("row", name=QUESTION).first.locator("td.num")
    expect(figures.first).to_have_text("1.00")


def kept_sets(tenant: Tenant, folder: Path, *names: str) -> Path:
    """Keeps the judged questions with a project; returns their file."""
    file = judged_file(folder)
    for name in names:
        path = f"/api/v1/projects/{tenant.project_id}/judged-sets/{name}"
        api(tenant, "PUT", path, json={"lines": file.read_text()})
    return file


def test_figures_are_of_the_set_that_is_open(
    visitor: Watched, measured: Tenant, tmp_path: Path
) -> None:
    """Another set of the same questions has none, nor has a question that is judged otherwise."""
    file = kept_sets(measured, tmp_path, "first", "second")
    page = visitor.sign_in(measured.key)
    visitor.open("/evaluate")
    chosen = page.get_by_role("combobox", name="Judged set")
    chosen.select_option("first")
    run_all(page)
    chosen.select_option("second")
    expect(page.get_by_text("0 of 12 questions")).to_be_visible()
    expect(page.get_by_role("row", name=QUESTION).first).to_contain_text("–––")
    run_all(page)
    page.locator("section input[type=file]").set_input_files(file)
    expect(page.get_by_text("0 of 12 questions")).to_be_visible()
    run_all(page)
    page.get_by_role("button", name=QUESTION, exact=True).click()
    page.get_by_role("button", name="Judge").click()
    page.get_by_role("button", name="not 0").click()
    expect(page.get_by_text("11 of 12 questions")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("12 of 12 questions")).to_be_visible()
    page.get_by_role("button", name="Delete").first.click()
    expect(page.get_by_text("11 of 11 questions")).to_be_visible()
    expect(page.get_by_role("row", name=QUESTION).first).to_contain_text("–––")


def test_a_run_ends_where_another_set_is_opened(
    visitor: Watched, measured: Tenant, tmp_path: Path
) -> None:
    file = kept_sets(measured, tmp_path, "third")
    page = visitor.sign_in(measured.key)
    visitor.open("/evaluate")
    sets = page.get_by_role("combobox", name="Judged set")
    files = page.locator("section input[type=file]")
    begin = page.get_by_role("button", name="Run")
    page.on("dialog", lambda dialog: dialog.accept())
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/search/explain", hold)
    files.set_input_files(file)
    for _ in range(2):  # the second time the open set is one of the project
        begin.click()
        expect(begin).to_have_count(0)
        files.set_input_files(file)
        expect(begin).to_be_enabled()
        begin.click()
        expect(begin).to_have_count(0)
        sets.select_option("third")
        expect(begin).to_be_enabled()
    assert held


def test_a_run_begun_right_after_a_weight_was_typed_goes_on(
    visitor: Watched, measured: Tenant, tmp_path: Path
) -> None:
    """The button is pressed in the moment in which the field is left, before any timer."""
    page = visitor.sign_in(measured.key)
    visitor.open("/evaluate")
    page.locator("section input[type=file]").set_input_files(judged_file(tmp_path))
    expect(page.get_by_role("button", name="Run")).to_be_enabled()
    bodies: list[dict[str, Any]] = []
    page.on("request", lambda request: bodies.append(request.post_data_json))
    page.get_by_role("spinbutton", name="keyword").focus()
    page.keyboard.type("0.3")
    page.evaluate(
        "async () => { document.activeElement.blur(); for (let n = 0; n < 9; n += 1) await null;"
        " [...document.querySelectorAll('button')].find(one => one.textContent == 'Run').click(); }"
    )
    expect(page.get_by_text("12 of 12 questions")).to_be_visible()
    drafts = [body["config"] for body in bodies if body and "config" in body]
    assert {(draft["bm25_weight"], draft["vector_weight"]) for draft in drafts} == {(0.3, 0.2)}


def test_a_verdict_is_given_only_where_one_can_be_told(
    visitor: Watched, measured: Tenant, tmp_path: Path
) -> None:
    page = visitor.sign_in(measured.key)
    visitor.open("/evaluate")
    page.locator("section input[type=file]").set_input_files(judged_file(tmp_path))
    run_all(page)
    measures = page.locator("tr", has=page.get_by_role("rowheader"))
    expect(measures).to_have_count(len(MEASURES))
    # Without a draft that changes something both are one.
    for row in measures.all():
        expect(row.locator("td").last).to_have_text("the same")
    reported = {
        "recall@1": (-0.2, -0.1, "worse", "worse"),
        "recall@5": (0.1, 0.2, "better", "better"),
        "recall@20": (-0.149, 0.109, "not worse", "no difference can be told (12 questions)"),
    }

    def answer(route: Route) -> None:
        body = route.fetch().json()
        for name, (low, high, verdict, _) in reported.items():
            interval = {"mean": low, "low": low, "high": high}
            body["measures"][name] |= {"interval": interval, "verdict": verdict}
        route.fulfill(json=body)

    page.route("**/measures", answer)
    page.get_by_role("button", name="Run").click()
    for name, (*_, shown) in reported.items():
        row = page.locator("tr", has=page.get_by_role("rowheader", name=name, exact=True))
        expect(row.locator("td").last).to_have_text(shown)


def test_a_run_has_no_more_questions_than_the_server_measures(
    visitor: Watched, measured: Tenant, tmp_path: Path
) -> None:
    page = visitor.sign_in(measured.key)
    visitor.open("/evaluate")
    place = {"json_pointer": "/a", "char_start": 0, "char_end": 5}
    rows = [{"query": f"question {n}", "relevant": [place]} for n in range(1_001)]
    file = tmp_path / "many.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    page.locator("section input[type=file]").set_input_files(file)
    expect(page.get_by_text("One run measures 1,000 questions at most.")).to_be_visible()
    expect(page.get_by_role("button", name="Run")).to_be_disabled()


def test_a_set_is_imported_run_and_exported(
    visitor: Watched, measured: Tenant, tmp_path: Path
) -> None:
    page = visitor.sign_in(measured.key)
    visitor.open("/evaluate")
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"query": "x", "relevant": []}\nnothing\n')
    chosen = page.locator("section input[type=file]")
    chosen.set_input_files(bad)
    expect(page.get_by_text("Line 2 is no judged question")).to_be_visible()
    file = judged_file(tmp_path)
    chosen.set_input_files(file)
    expect(page.locator("main")).to_contain_text("12 questions")
    page.get_by_label("Strategy").select_option("semantic")
    refused: list[str] = []
    under_way: set[str] = set()
    most = 0

    def busy_once(route: Route) -> None:
        """One question meets a project that is too busy; the next try of it is answered."""
        nonlocal most
        under_way.add(route.request.post_data or "")
        most = max(most, len({json.loads(body)["query"] for body in under_way}))
        if not refused:
            refused.append(route.request.url)
            fields = {"code": "SEARCH_BACKPRESSURE", "detail": "", "retryable": True, "status": 429}
            route.fulfill(status=429, json={**fields, "retryAfterMs": 50})
        else:
            route.continue_()

    page.on("requestfinished", lambda request: under_way.discard(request.post_data or ""))
    page.route("**/search/explain", busy_once)
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_text("12 of 12 questions")).to_be_visible()
    page.unroute("**/search/explain")
    assert refused
    assert most <= 4
    means = page.locator("tr", has=page.get_by_role("rowheader", name="ndcg@10"))
    expect(means).to_contain_text("1.000")
    expect(means).to_contain_text("worse")
    visitor.look("evaluate-run")
    assert visitor.axe() == []
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    exported = Path(download.value.path()).read_text()
    assert [json.loads(line) for line in exported.splitlines()] == [
        json.loads(line) for line in file.read_text().splitlines()
    ]
    page.get_by_role("button", name=QUESTION, exact=True).click()
    expect(page.locator("table.compare")).to_be_visible()
    assert [reported for reported in visitor.errors if "429" not in reported] == []
