"""A replacement as a program does it: preview, execute, undo, each shown as it is answered."""

from __future__ import annotations

import re
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from local.demo.client import Api

MATCHES_SHOWN = 3
AROUND_CHARS = 28
_FOUND, _BECOMES = "bold red", "bold green"


def replace_and_undo(
    console: Console, api: Api, project_id: int, table_id: int, *, find: str, replace_with: str
) -> None:
    """Replaces whole words in all tables of a project, and takes it back."""
    where = f"/api/v1/projects/{project_id}/replace"
    document = f"/api/v1/tables/{table_id}/data"
    console.print()
    console.rule(Text(f" {find} → {replace_with} ", style="bold cyan"), align="left")
    original = api.text(document)
    wanted = {"find": find, "replace_with": replace_with, "whole_word": True}
    plan = api.post(f"{where}/preview", {**wanted, "samples": MATCHES_SHOWN})
    show_plan(console, plan)
    chosen = {"plan_id": plan["plan_id"], "digest": plan["digest"]}
    done = api.post(f"{where}/execute", chosen)
    console.print(f"executed: {done['replaced_count']} replaced, {_revisions(done)}")
    undone = api.post(f"{where}/{plan['plan_id']}/undo", {})
    console.print(f"undone: {undone['reverted_count']} brought back, {_revisions(undone)}")
    is_same = api.text(document) == original
    same = "byte for byte what it was" if is_same else "NOT what it was"
    console.print(f"  the document is {same}")


def show_plan(console: Console, plan: dict[str, Any]) -> None:
    """Prints what a preview found: how much, and the first matches as lines of a diff."""
    matches, strings = plan["matches_count"], plan["strings_count"]
    console.print(f"preview: {matches} matches in {strings} strings; nothing is changed yet")
    for match in plan["matches"]:
        place = f"[green]{escape(match['json_pointer'])}[/], character {match['char_start']:,}"
        console.print(f"   {place}", highlight=False)
        before = _one_line(match["before"])[-AROUND_CHARS:]
        after = _one_line(match["after"])[:AROUND_CHARS]
        for sign, name, style in (("-", "found", _FOUND), ("+", "becomes", _BECOMES)):
            line = Text.assemble(f" {sign} {before}", (_one_line(match[name]), style), after)
            console.print(line, no_wrap=True, overflow="ellipsis")
    if hidden := matches - len(plan["matches"]):
        console.print(f"   and {hidden} more", style="dim")


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _revisions(answer: dict[str, Any]) -> str:
    [table] = answer["tables"]
    return f"revision {table['revision_before']} → {table['revision_after']}"
