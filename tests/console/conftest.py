"""A real stack, a real Chromium, and pages of it that are signed in.

Nothing here is part of ``make test``: ``make console-test``. ``LOOK=folder`` keeps the screenshots.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect

from local.options import ROOT, StackOptions
from tests.console.browsers import chromium
from tests.console.documents import PLACES, novel
from tests.e2e.running import Running, Tenant, running_stack

AXE = ROOT / "console/node_modules/axe-core/axe.min.js"
SESSION = "context-search.session"
LANGUAGES = ("en", "zh")
THEMES = ("light", "dark")
# Longer than the longest pause of a page that asks again: 15 seconds for its second quiet one.
_PATIENCE_MS = 60_000
_AXE_RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
_TWO_FRAMES = (
    "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
)


@dataclass
class Watched:
    """A page, and everything that it has said or asked for."""

    page: Page
    base_url: str
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    unanswered: set[Request] = field(default_factory=set)

    def open(self, address: str = "") -> Page:
        """Goes to an address of the console, ``/search?q=x``, and waits for its heading."""
        self.page.goto(f"{self.base_url}/console#{address}")
        self.page.locator("h1").first.wait_for()
        return self.page

    def sign_in(self, key: str) -> Page:
        """Pastes a key; waits for the navigation."""
        self.open()
        self.page.get_by_role("textbox", name="key").or_(
            self.page.locator("[name=key]")
        ).first.fill(key)
        self.page.locator("form button.primary").click()
        self.page.locator("nav").wait_for()
        return self.page

    def set(self, language: str, theme: str) -> None:
        """Chooses language and theme as the buttons do, and loads the page anew."""
        self.page.evaluate(
            "([l, t]) => { localStorage.setItem('context-search.language', l);"
            " localStorage.setItem('context-search.theme', t); }",
            [language, theme],
        )
        self.page.reload()
        self.page.locator("h1").first.wait_for()

    def axe(self) -> list[str]:
        """Returns what axe-core finds wrong: rule, help, where.

        The page forbids scripts of others, so axe comes in by the debugger, as extensions do.
        """
        if not self.page.evaluate("typeof axe === 'object'"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("rules => axe.run(document, rules)", _AXE_RULES)
        return [
            f"{each['id']}: {each['help']}: {node['html'][:160]} {node['failureSummary'][:200]}"
            for each in found["violations"]
            for node in each["nodes"]
        ]

    def rests(self) -> Page:
        """Waits until every request has its answer and the page has drawn what they said.

        Playwright's own "networkidle" says only that a document was idle once.
        """
        self.page.evaluate(_TWO_FRAMES)
        while self.unanswered:
            self.page.evaluate(_TWO_FRAMES)
        return self.page

    def fits(self) -> bool:
        """Whether nothing sticks out sideways."""
        return bool(
            self.page.evaluate(
                "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
            )
        )

    def look(self, name: str) -> None:
        """Keeps a screenshot where LOOK says, for people."""
        folder = os.environ.get("LOOK")  # noqa: TID251 - a wish of who runs the tests
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=str(Path(folder) / f"{name}.png"))


@pytest.fixture(scope="session")
def stack() -> Iterator[Running]:
    """The product with its local parts, on free ports and a folder of its own."""
    with running_stack(StackOptions()) as running:
        yield running


@pytest.fixture(scope="session")
def tenant(stack: Running) -> Tenant:
    """A project with one table and one indexed tool, which every check may read, none change."""
    tenant = stack.project()
    tenant.ready(tenant.tool(tenant.table(novel()), name="search_novel"))
    return tenant


@pytest.fixture
def own_tenant(stack: Running) -> Tenant:
    """An empty project of one check."""
    return stack.project()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all checks."""
    expect.set_options(timeout=_PATIENCE_MS)
    with chromium() as browser:
        yield browser


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser of one check: its own storage, English, 1,280 by 800."""
    context = browser.new_context(locale="en-US", viewport={"width": 1280, "height": 800})
    context.set_default_timeout(_PATIENCE_MS)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield context
    context.close()


@pytest.fixture
def new_tab(context: BrowserContext, stack: Running) -> Callable[[], Watched]:
    """Makes pages; what any of them logs as an error, or a policy refuses, is in ``errors``."""

    def make() -> Watched:
        watched = Watched(context.new_page(), stack.base_url)

        def asked(request: Request) -> None:
            watched.requests.append(request.url)
            watched.unanswered.add(request)

        def answered(request: Request) -> None:
            watched.unanswered.discard(request)

        watched.page.on("request", asked)
        watched.page.on("requestfinished", answered)
        watched.page.on("requestfailed", answered)
        watched.page.on("pageerror", lambda error: watched.errors.append(str(error)))
        watched.page.on(
            "console",
            lambda reported: watched.errors.append(reported.text) if _is_ours(reported) else None,
        )
        return watched

    return make


def _is_ours(reported: ConsoleMessage) -> bool:
    """Chromium logs every refusal of a server; those are answers, which the page shows."""
    return reported.type == "error" and not reported.text.startswith("Failed to load resource")


@pytest.fixture
def visitor(new_tab: Callable[[], Watched]) -> Watched:
    """A page that nobody has signed in to."""
    return new_tab()


@pytest.fixture(scope="session")
def readers_session(browser: Browser, stack: Running, tenant: Tenant) -> str:
    """The session of the shared project with all scopes, as a tab keeps it; no check ends it."""
    page = browser.new_page()
    Watched(page, stack.base_url).sign_in(tenant.key)
    kept = page.evaluate(f"sessionStorage.getItem({SESSION!r})")
    page.close()
    return str(kept)


@pytest.fixture
def signed_in(visitor: Watched, readers_session: str) -> Watched:
    """A page with that session."""
    visitor.page.add_init_script(f"sessionStorage.setItem({SESSION!r}, {readers_session!r})")
    visitor.open()
    visitor.page.locator("nav").wait_for()
    return visitor


@pytest.fixture
def stack_origin(stack: Running) -> Callable[[str], bool]:
    """Whether an address is the stack's own, or holds its own content."""
    return lambda url: url.startswith((f"{stack.base_url}/", "data:", "blob:"))


def api(tenant: Tenant, method: str, path: str, **more: Any) -> Any:
    """The answer of one request with the project's key; fails on a refusal."""
    answered = tenant(method, path, **more)
    assert answered.is_success, answered.text
    return answered.json() if answered.content else None


__all__ = ["LANGUAGES", "PLACES", "THEMES", "Watched", "api"]
