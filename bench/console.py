"""The console in a real Chromium, against the whole local stack: paints, places, tasks, heap.

``.venv-console/bin/python -m bench console`` (``make setup-console`` makes that environment).

``first paint``: Chromium's own mark, of a tab that has nothing of the page (``cold``, of the
stack's first answer on its own ``first``) and of one that has it and is answered 304 (``warm``).
``place``: from the click on a hit until its mark has been laid out and the next frame has begun.
``window``: tasks over 50 ms while a window of a long string with its chunks is opened.
``heap``: of live objects, after four collections; one leaves what the last one has just freed.
"""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page

from bench._project import Project, new_project
from console.build import BUILT, MAX_BYTES
from local.options import StackOptions
from local.stack import Stack
from local.state import State
from tests.builders import english
from tests.console.browsers import chromium

ROUNDS = 20
QUESTIONS = 100
COLLECTIONS = 4
STRING_CHARS = 600_000
STRINGS = 3
# Of every window of the long string but the first and the last, so that all are full.
WINDOW_CHARS = 80_000
_FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
_WATCH_TASKS = """() => {
  window.tasks = [];
  new PerformanceObserver(list => window.tasks.push(...list.getEntries().map(one => one.duration)))
    .observe({ type: 'longtask' });
}"""
_CLICK = """at => new Promise(done => {
  const card = document.querySelectorAll('.hitcard .place')[at];
  const began = performance.now();
  const before = document.querySelector('.text .hit');
  card.click();
  const look = () => {
    const hit = document.querySelector('.text .hit');
    if (!hit || hit === before) { requestAnimationFrame(look); return; }
    hit.getBoundingClientRect();
    requestAnimationFrame(() => done(performance.now() - began));
  };
  look();
})"""


def main() -> None:
    """Start, fill, open, print."""
    with tempfile.TemporaryDirectory() as folder:
        state = State(Path(folder) / "state")
        quiet = StackOptions(schedule_every_s=3_600)
        with (
            Stack(state, dict(os.environ), quiet, report=lambda _: None) as stack,  # noqa: TID251 - handed on
            chromium() as browser,
        ):
            _measure(stack, browser)


def _measure(stack: Stack, browser: Browser) -> None:
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    print(
        f"Chromium {browser.version} on {platform.machine()}, {os.cpu_count()} cores, load {load}"
    )
    print(f"{'file, bytes':42} {BUILT.stat().st_size:,} of {MAX_BYTES:,}")
    print(f"{'':42} {'median':>7} {'most':>7}")
    address = f"{stack.base_url}/console"
    _print("first paint, first, ms", [_paint(browser, address)[0]])
    paints = [_paint(browser, address) for _ in range(ROUNDS)]
    _print("first paint, cold, ms", [cold for cold, _ in paints])
    _print("first paint, warm, ms", [warm for _, warm in paints])
    project, key = new_project(stack)
    table = _filled(project)
    context = browser.new_context(locale="en-US", viewport={"width": 1280, "height": 800})
    page = _signed_in(context, address, key)
    _windows(page, address, table)
    _places(page, address)
    _heap(context, page, address)
    context.close()


def _paint(browser: Browser, address: str) -> tuple[float, float]:
    context = browser.new_context()
    page = context.new_page()
    spent = []
    for load in (lambda: page.goto(address), page.reload):
        load()
        page.locator("h1").first.wait_for()
        spent.append(_until_true(page, _FIRST_PAINT))
    context.close()
    return spent[0], spent[1]


def _until_true(page: Page, expression: str) -> float:
    """The value of an expression, at the first frame at which it is not 0."""
    return float(
        page.evaluate(
            "() => new Promise(done => { const look = () => {"
            f" const told = {expression}; told ? done(told) : requestAnimationFrame(look); }};"
            " look(); })"
        )
    )


def _filled(project: Project) -> int:
    data = {f"text {n}": english(STRING_CHARS, n) for n in range(STRINGS)}
    made = project.post("/api/v1/tables", project_id=project.project_id, name="bench", data=data)
    tool = project.post(
        "/api/v1/tools/search",
        project_id=project.project_id,
        table_id=made["id"],
        name="search_bench",
    )
    project.wait_until_ready(f"/api/v1/tools/{tool['tool_id']}/search-index", at_least=1)
    return int(made["id"])


def _signed_in(context: BrowserContext, address: str, key: str) -> Page:
    page = context.new_page()
    page.goto(address)
    page.locator("[name=key]").fill(key)
    page.locator("form button.primary").click()
    page.locator("nav").wait_for()
    page.evaluate(_WATCH_TASKS)
    return page


def _windows(page: Page, address: str, table: int) -> None:
    """Opens windows of a string one after the other; says how long their longest tasks took."""
    longest, over, chunks = [], 0, []
    for at in range(1, STRING_CHARS // WINDOW_CHARS):
        page.goto(f"{address}#/overview")
        page.locator("table.overview").wait_for()
        page.evaluate("window.tasks.length = 0")
        place = at * WINDOW_CHARS + 100
        page.goto(f"{address}#/documents/{table}?p=/text%200&a={place}&b={place + 9}")
        page.locator(".text .hit").first.wait_for()
        page.locator(".text [data-chunk]").first.wait_for()
        page.wait_for_load_state("networkidle")
        tasks = page.evaluate("window.tasks")
        longest.append(max(tasks, default=0))
        over += sum(task > 200 for task in tasks)
        chunks.append(page.locator(".text [data-chunk]").count())
    _print(f"window of {min(chunks)} to {max(chunks)} chunks, longest task", longest)
    print(f"{'  tasks over 200 ms':42} {over:7}")


def _places(page: Page, address: str) -> None:
    """Clicks on hits of another string than the one that is shown, and of the same."""
    other, same = [], []
    for word in ("archive harbour", "orchard meadow", "kitchen journal", "railway season"):
        page.goto(f"{address}#/search?q={word.replace(' ', '%20')}")
        page.locator(".hitcard").first.wait_for()
        page.locator(".text .hit").first.wait_for()
        page.wait_for_load_state("networkidle")
        pointers = page.locator(".hitcard .place code").all_inner_texts()
        shown = pointers[0]
        for at in range(1, len(pointers)):
            spent = float(page.evaluate(_CLICK, at))
            (same if pointers[at] == shown else other).append(spent)
            shown = pointers[at]
            page.wait_for_load_state("networkidle")
    _print("place in another string, ms", other)
    _print("place in the same string, ms", same)


def _heap(context: BrowserContext, page: Page, address: str) -> None:
    """Asks a hundred questions in one tab."""
    debugger = context.new_cdp_session(page)
    before = _live(debugger)
    for number in range(QUESTIONS):
        with page.expect_response("**/search/explain"):
            page.goto(f"{address}#/search?q=archive%20{number}")
        page.locator(".hitcard").first.wait_for()
    page.wait_for_load_state("networkidle")
    after = _live(debugger)
    print(f"{f'heap before and after {QUESTIONS} questions, MB':42} {before:7.1f} {after:7.1f}")


def _live(debugger: Any) -> float:
    for _ in range(COLLECTIONS):
        debugger.send("HeapProfiler.collectGarbage")
    return float(debugger.send("Runtime.getHeapUsage")["usedSize"]) / 1e6


def _print(name: str, values: Sequence[float]) -> None:
    if values:
        print(f"{name:42} {median(values):7.0f} {max(values):7.0f}   of {len(values)}", flush=True)


if __name__ == "__main__":
    main()
