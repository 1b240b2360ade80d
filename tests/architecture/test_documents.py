"""What the documents name exists: files, folders and classes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from scripts.schema_tables import PAGE, tables, with_tables
from tests.architecture.project import ROOT, python_files, relative

PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "tests/README.md")),
]
# Final decisions tell what was; the answers are made from the code (scripts/api_reference.py).
READ = [path for path in PAGES if not path.name[:4].isdigit() and path.name != "answers.md"]
FILE = re.compile(r"[\w.-]+(/[\w.-]+)*\.(py|md|toml|yaml|yml|json|jsonl|sql|mjs|sh|txt|in)")
FOLDER = re.compile(r"[\w.-]+(/[\w.-]+)*/|(shared|functions|local|testing|tests|docs)/[\w/.-]+")
NAMED_IN = re.compile(r"((?:`\w+`(?:, | and )?)+) in `([\w./-]+\.py)`")
CLASS = re.compile(r"\b[A-Z][a-z]+[A-Z]\w*")
README_WORDS = 1_000
# Of other programs, of one machine, or examples.
ELSEWHERE = {
    *(".in", ".txt", ".mcp.json", "config.toml", "claude_desktop_config.json", "openapi.json"),
    *(".cursor/mcp.json", ".vscode/mcp.json", "docs/decisions/NNNN-name.md"),
    *("context-search.json", "context-search-models.json", "context-search-internal.json"),
    *("iam:PassRole", ".local/endpoints.json", ".build/bom.json", "docs/read_v2.md"),
    *("ZhiShiKu_12", "ZhiShiKu_FAQ_12", "RenameTable", "RenameTableBody"),
}


@cache
def files() -> str:
    """Every file of the project, each in a line that begins with a slash."""
    tops = [path for path in ROOT.iterdir() if not path.name.startswith(".")]
    below = [path for top in tops for path in (top, *top.rglob("*"))]
    kept = [path for path in below if not set(path.parts) & {"__pycache__", "node_modules"}]
    return "".join(f"/{relative(path)}\n" for path in kept if path.is_file())


@cache
def names() -> frozenset[str]:
    """Every word of the code and of the templates."""
    paths = python_files("shared", "functions", "local", "testing", "tests", "scripts")
    templates = [ROOT / "template.yaml", *(ROOT / "infrastructure").glob("*.yaml")]
    text = "\n".join(path.read_text("utf-8") for path in [*paths, *templates])
    return frozenset(re.findall(r"\w+", text))


def quoted(page: Path) -> Iterator[str]:
    """What stands in backticks in the prose and tables of a page."""
    prose = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    yield from (found for found in re.findall(r"`([^`\n]+)`", prose) if found not in ELSEWHERE)


@pytest.mark.parametrize("page", READ, ids=relative)
def test_every_file_and_folder_that_a_page_names_exists(page: Path) -> None:
    named = [name for name in quoted(page) if FILE.fullmatch(name) or FOLDER.fullmatch(name)]
    missing = [
        name
        for name in named
        if not re.search(rf"/{re.escape(name.rstrip('/'))}(/|$)", files(), re.MULTILINE)
    ]
    assert missing == []


@pytest.mark.parametrize("page", READ, ids=relative)
def test_every_class_that_a_page_names_exists(page: Path) -> None:
    named = {word for text in quoted(page) for word in CLASS.findall(text) if text not in ELSEWHERE}
    assert sorted(named - names()) == []


@pytest.mark.parametrize("page", READ, ids=relative)
def test_every_name_that_a_page_finds_in_a_file_is_there(page: Path) -> None:
    missing = []
    for named, file in NAMED_IN.findall(page.read_text("utf-8")):
        paths = re.findall(rf"^/((?:.*/)?{re.escape(file)})$", files(), re.MULTILINE)
        words = set(re.findall(r"\w+", "".join((ROOT / path).read_text() for path in paths)))
        missing += [(name, file) for name in re.findall(r"`(\w+)`", named) if name not in words]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_every_link_to_another_page_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([\w./-]+)?(?:#([\w-]+))?\)", page.read_text("utf-8"))
    for name, anchor in links:
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), name
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.MULTILINE)
            anchors = [re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings]
            assert anchor in anchors, f"{name}#{anchor}"


def test_every_picture_is_shown_by_a_page_and_taken_by_a_test() -> None:
    picture = re.compile(r"!\[[^\]]+\]\((?:docs/)?pictures/([\w.-]+)\)")
    shown = {name for page in PAGES for name in picture.findall(page.read_text("utf-8"))}
    steps = (ROOT / "tests/console/check_pictures.py").read_text("utf-8")
    taken = set(re.findall(r'"([\w-]+\.(?:webp|svg))"', steps))
    kept = {path.name for path in (ROOT / "docs/pictures").iterdir()}
    assert shown == taken == kept


@pytest.mark.parametrize("page", READ, ids=relative)
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    named = {name for name in quoted(page) if re.fullmatch(r"test_\w+", name)}
    modules = {path.stem for path in python_files("tests")}
    assert sorted(named - names() - modules) == []


def test_every_page_of_the_console_is_in_the_table_of_what_shows_it() -> None:
    shown = (ROOT / "docs/console.md").read_text("utf-8").split("## What shows it")[1]
    pages = {path.stem for path in (ROOT / "console/src/pages").glob("*.tsx")}
    assert pages <= set(re.findall(r"`(\w+)`", shown))


def test_every_table_of_the_schema_has_a_row_that_says_when_its_rows_leave() -> None:
    page = PAGE.read_text("utf-8")
    assert page == with_tables(page), "make docs"
    assert {name for name, *_ in tables()} >= {"context_table", "node", "judged_set"}
    table = page.split("## Tables")[1].split("\n\n")[2]
    assert [row for row in table.splitlines() if row.endswith("|  |")] == []


def test_contributing_lists_every_command_of_make() -> None:
    commands = re.findall(r"(?m)^([a-z0-9-]+):.*## ", (ROOT / "Makefile").read_text())
    table = re.findall(r"(?m)^\| (`make .*?) \| \S", (ROOT / "CONTRIBUTING.md").read_text())
    assert sorted(re.findall(r"`make ([a-z0-9-]+)`", " ".join(table))) == sorted(commands)


def test_the_readme_is_read_in_five_minutes() -> None:
    prose = re.sub(r"(?ms)^```.*?^```", "", (ROOT / "README.md").read_text())
    assert len(prose.split()) <= README_WORDS
