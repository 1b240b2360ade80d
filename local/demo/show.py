"""Answers as a person wants to read them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from context_search.text.analysis import match_spans

PASSAGE_CHARS = 420
POLL_S = 0.2
MATCH_STYLE = "bold black on yellow"


def show_progress(console: Console, read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Draws a bar from the index's own counters until it is not being built any more."""
    columns = (
        TextColumn("  indexing"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("chunks"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=None)
        while True:
            state = read()
            # The total grows while the last strings are still being cut.
            total = state["chunks_count"] or None
            progress.update(bar, total=total, completed=state["indexed_chunks_count"])
            if state["status"] not in ("pending", "indexing"):
                return state
            time.sleep(POLL_S)


def nothing_to_find(hint: str | None, *, longest: int, threshold: int) -> str | None:
    """Returns why no question will find anything, as the tool's hint says; None where one may."""
    if hint is None:
        return None
    if hint == "nothing_indexed":
        return (
            f"nothing to find: all strings of {threshold:,} characters or more are blank, or longer"
            " than a string may be"
        )
    if not longest:
        return "nothing to find: the document has no string with a character in it"
    return (
        f"nothing to find: the longest string has {longest:,} characters, and those from"
        f" {threshold:,} on are indexed; try THRESHOLD={max(1, longest // 2)}"
    )


def show_answer(console: Console, answer: dict[str, Any]) -> None:
    """Prints a question and its hits: how good, where exactly, and the passage itself."""
    console.print()
    console.rule(Text(f" {answer['query']} ", style="bold cyan"), align="left")
    if not answer["results"]:
        hint = f": {answer['hint']}" if "hint" in answer else ""
        console.print(f"  nothing found{hint}", style="dim")
    for number, hit in enumerate(answer["results"], start=1):
        chunk = hit["chunk"]
        console.print(
            f"[bold]{number}.[/] relevance [bold]{hit['relevance']:.2f}[/]"
            f"  score {hit['score']:.3f}\n"
            f"   [green]{escape(hit['json_path']) or '(the root)'}[/],"
            f" characters {chunk['char_start']:,} to {chunk['char_end']:,}",
            highlight=False,
        )
        console.print(_passage(chunk["chunk_text"], answer["query"]))


def _passage(text: str, query: str) -> Padding:
    """Returns the part of a chunk around its first matches, the matched words marked."""
    spans = match_spans(text, query)
    first = max(0, (spans[0][0] if spans else 0) - PASSAGE_CHARS // 3)
    last = min(len(text), first + PASSAGE_CHARS)
    passage = Text(text[first:last])
    for start, end in spans:
        if first <= start < last:
            passage.stylize(MATCH_STYLE, start - first, min(end, last) - first)
    shown = Text("…" if first else "") + passage + Text("…" if last < len(text) else "")
    shown.plain = shown.plain.replace("\n", " ")
    return Padding(shown, (0, 0, 0, 3))
