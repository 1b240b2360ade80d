"""The pictures of ``docs/``, taken by the steps that a person takes.

``make pictures`` keeps them, in the folder that ``PICTURES`` names. Without it they are thrown
away: what is proved is that the steps still lead there.
"""

from __future__ import annotations

import base64
import os
import re
import sys
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from pydoc_data.topics import topics
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from rich.console import Console
from rich.text import Text

from local.options import ROOT
from tests.builders import until
from tests.console.conftest import Watched, api
from tests.e2e.running import Running, Tenant, user_environment
from tests.e2e.terminal import in_terminal

QUESTION = "How does the with statement call __exit__?"
CHAPTERS = {
    "第一章 雨夜": "雨下了一夜。林小雨推开门，院子里积满了水。她叫了一声，没有人答应。",
    "第二章 来信": "信是林小雨的父亲写的，只有三行。林小雨看完，把它放进抽屉，锁上了。",
    "第三章 车站": "站台上的人都走了，只剩林小雨和一只旧箱子。末班车晚了四十分钟。",
}
NOVEL = {"chapters": [{"title": title, "text": text} for title, text in CHAPTERS.items()]}
WEBP_QUALITY = 72
COLUMNS = 100
WIDTH = 1120
HEIGHT = 720
Keep = Callable[..., None]


@pytest.fixture(scope="module")
def library(stack: Running) -> Tenant:
    """A project as somebody has it after a day: Python's reference, a novel, the handbook."""
    tenant = stack.project()
    stack.sql("UPDATE project SET name = 'reading room' WHERE id = :id", id=tenant.project_id)
    longest = ("compound", "specialnames", "types", "string-methods", "typesseq")
    tables = {
        "python": {name: topics[name] for name in longest},
        "handbook": {"text": (ROOT / "docs/zh/handbook.md").read_text("utf-8")},
        "小说": NOVEL,
    }
    for name, data in tables.items():
        body = {"project_id": tenant.project_id, "name": name, "data": data}
        table = api(tenant, "POST", "/api/v1/tables", json=body)["id"]
        if name != "小说":
            description = f"The {name}."
            tenant.ready(tenant.tool(table, name=f"search_{name}", description=description))
    return tenant


@pytest.fixture
def reader(visitor: Watched, library: Tenant) -> Watched:
    """Who is signed in there, with a window that a page shows well."""
    visitor.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    visitor.sign_in(library.key)
    return visitor


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where pictures go: where ``PICTURES`` says, or into nothing."""
    wished = os.environ.get("PICTURES")  # noqa: TID251 - a wish of who runs the tests
    folder = ROOT / wished if wished else tmp_path
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def keep(folder: Path, context: BrowserContext) -> Keep:
    """Takes a picture of a page that asks for nothing more, of its upper ``height`` pixels."""

    def take(page: Page, name: str, height: int = HEIGHT) -> None:
        page.wait_for_load_state("networkidle")
        expect(page.locator(".said.on")).to_have_count(0)
        page.mouse.move(WIDTH - 1, HEIGHT - 1)
        page.evaluate(
            "Promise.all(document.getAnimations().map(one => one.finished)).then(() => 1)"
        )
        # Playwright makes PNG and JPEG; the browser itself also WebP, a third of them.
        debugger = context.new_cdp_session(page)
        top = page.evaluate("scrollY")
        clip = {"x": 0, "y": top, "width": WIDTH, "height": height, "scale": 1}
        asked = {"format": "webp", "quality": WEBP_QUALITY, "clip": clip}
        taken = base64.b64decode(debugger.send("Page.captureScreenshot", asked)["data"])
        assert taken[8:12] == b"WEBP"
        (folder / name).write_bytes(taken)

    return take


def shown(watched: Watched, address: str, sign: str) -> Page:
    """Opens an address and waits for what the picture is about."""
    page = watched.open(address)
    expect(page.locator(sign).first).to_be_visible()
    return page


def table_of(tenant: Tenant, name: str) -> int:
    tables = api(tenant, "GET", "/api/v1/tables")["tables"]
    return int(next(table["id"] for table in tables if table["name"] == name))


def tool_of(tenant: Tenant, name: str) -> int:
    tools = api(tenant, "GET", "/api/v1/tools")["tools"]
    return int(next(tool["id"] for tool in tools if tool["name"] == name))


def test_overview(reader: Watched, keep: Keep) -> None:
    page = shown(reader, "/overview", "table.overview")
    expect(page.locator("tr", has_text="search_python")).to_contain_text("ready")
    keep(page, "overview.webp", height=480)
    assert not reader.errors


@pytest.mark.parametrize(
    ("theme", "name"), [("light", "search.webp"), ("dark", "search-dark.webp")]
)
def test_search_and_why(
    reader: Watched, library: Tenant, keep: Keep, theme: str, name: str
) -> None:
    reader.set("en", theme)
    address = f"/search?tool={tool_of(library, 'search_python')}&q={quote(QUESTION)}"
    page = shown(reader, address, ".text .hit")
    page.keyboard.press("e")
    expect(page.locator(".why")).to_be_visible()
    keep(page, name)
    assert not reader.errors


def test_documents(reader: Watched, library: Tenant, keep: Keep) -> None:
    python = table_of(library, "python")
    start = topics["compound"].index("__exit__")
    place = f"a={start}&b={start + len('__exit__')}"
    page = shown(reader, f"/documents/{python}?p=/compound&{place}", ".text .hit")
    expect(page.get_by_role("treeitem", selected=True)).to_be_visible()
    keep(page, "documents.webp", height=706)


def compared(reader: Watched, library: Tenant) -> Page:
    """A question asked of a tool and of a draft of it that knows no keywords."""
    page = reader.open(f"/evaluate?a={tool_of(library, 'search_python')}&q={quote(QUESTION)}")
    expect(page.locator("table.compare")).to_be_visible()
    page.get_by_label("Strategy").select_option("semantic")
    expect(page.locator("table.compare")).to_contain_text(re.compile("only in A|new in B|▲|▼"))
    return page


def test_compare(reader: Watched, library: Tenant, keep: Keep) -> None:
    keep(compared(reader, library), "compare.webp")


def test_judge(reader: Watched, library: Tenant, keep: Keep) -> None:
    page = compared(reader, library)
    page.get_by_role("button", name="Judge").click()
    judge = page.get_by_role("region", name="Judge", exact=True)
    for grade in ("3", "1"):
        page.locator("h1").click()
        page.keyboard.press(grade)
    expect(judge).to_contain_text("3 of ")
    judge.evaluate("panel => panel.scrollIntoView({ block: 'end' })")
    keep(page, "judge.webp")


def test_index(reader: Watched, library: Tenant, keep: Keep) -> None:
    page = shown(reader, f"/indexes/{tool_of(library, 'search_python')}", "dl.facts")
    expect(page.locator("td", has_text="/compound")).to_be_visible()
    keep(page, "index.webp", height=640)


def test_replace_in_chinese(reader: Watched, library: Tenant, keep: Keep) -> None:
    reader.set("zh", "light")
    page = shown(reader, f"/replace?find={quote('林小雨')}&by={quote('林小溪')}", ".match-row")
    expect(page.locator(".match-row")).to_have_count(5)
    page.locator(".match-row input").last.uncheck()
    keep(page, "replace.webp")


def test_agents(reader: Watched, library: Tenant, keep: Keep) -> None:
    body = {
        "project_id": library.project_id,
        "name": "support",
        "bindings": [{"tool_id": tool_of(library, "search_python")}],
    }
    mcp = api(library, "POST", "/api/v1/mcps", json=body)["id"]
    page = shown(reader, f"/agents/{mcp}", "pre")
    keep(page, "agents.webp", height=706)


def test_keys(reader: Watched, library: Tenant, keep: Keep) -> None:
    path = f"/api/v1/projects/{library.project_id}/keys"
    api(library, "POST", path, json={"name": "nightly import", "scopes": ["manage"]})
    api(
        library, "POST", path, json={"name": "website", "scopes": ["search"], "expires_in": 7776000}
    )
    page = shown(reader, "/keys", "tbody tr")
    expect(page.locator("tr", has_text="website")).to_be_visible()
    keep(page, "keys.webp", height=300)


def test_health(reader: Watched, library: Tenant, keep: Keep) -> None:
    path = f"/api/v1/projects/{library.project_id}/health"
    until(lambda: api(library, "GET", path)["cleanup"], timeout_s=60)
    page = shown(reader, "/health", "dl.facts")
    keep(page, "health.webp", height=360)


def commanded(tenant: Tenant, home: Path, *commands: Sequence[str]) -> Text:
    """Commands as they are typed, and what they print in a terminal of 100 columns."""
    environment = user_environment() | {
        "PYTHONPATH": str(ROOT / "cli"),
        "HOME": str(home),
        "TERM": "xterm-256color",
        "COLUMNS": str(COLUMNS),
        "CONTEXT_SEARCH_URL": tenant.stack.base_url,
        "CONTEXT_SEARCH_KEY": tenant.key,
    }
    reported = Text()
    for words in commands:
        typed = " ".join(f'"{word}"' if " " in word else word for word in words)
        reported.append("$ ", "bold green").append(f"context-search {typed}\n", "bold")
        program = [sys.executable, "-m", "context_search_cli", *words]
        code, printed = in_terminal(program, environment)
        assert code == 0, printed
        reported.append_text(Text.from_ansi(printed.decode().replace("\r\n", "\n"))).append("\n")
    reported.rstrip()
    return reported


def test_the_command_line(library: Tenant, folder: Path, tmp_path: Path) -> None:
    tool = str(tool_of(library, "search_python"))
    reported = commanded(
        library,
        tmp_path,
        ["status"],
        ["search", QUESTION, "--tool", tool, "--top-k", "1"],
        ["doctor"],
    )
    assert "__exit__" in reported.plain
    assert library.key not in reported.plain
    paper = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True)
    paper.print(reported)
    picture = paper.export_svg(title="context-search", unique_id="cli")
    # It names fonts of another site; a picture fetches nothing.
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    assert "url(http" not in picture
    (folder / "cli.svg").write_text(picture, encoding="utf-8")
