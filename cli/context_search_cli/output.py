"""What a command prints: one result on stdout, all else on stderr.

In a terminal lists are tables with colours (unless ``NO_COLOR``); in a pipe they are lines with
tabs, uncut. Texts of documents are hostile: what would steer a terminal is shown as ``\\x1b``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Protocol, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from rich.text import Text

from context_search_cli.client import Response

Cell = object
WORD = 16
"""Terminal cells within which no word of a list is broken."""
PREVIEW = 8
"""The least of a text that is cut."""
# Controls (but line break and tab), and what turns the direction of writing or is not seen.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)

# 2026-11-23T19:08:06.498075+00:00, of which a person in a list needs the first sixteen.
_TIME = re.compile(r"^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?\+00:00$")


class Tell(Protocol):
    """Says how far something is: in words, and as a share of all where that is known."""

    def __call__(self, text: str, share: float | None = None) -> None:
        """``share``: 0..1; without it the bar only moves."""


def visible(text: str) -> str:
    """A text without power over the terminal: its control characters are written out."""
    return _UNSEEN.sub(_escaped, text)


def one_line(text: str) -> str:
    """The same in one line, tabs and line breaks as spaces."""
    return visible(re.sub(r"\s+", " ", text).strip())


def number(value: int) -> str:
    """12345 as 12,345."""
    return f"{value:,}"


def counted(count: int, noun: str) -> str:
    """``1 table``, ``1,200 tables``, ``2 matches``."""
    ending = "" if count == 1 else "es" if noun.endswith("ch") else "s"
    return f"{number(count)} {noun}{ending}"


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class Output:
    """Where a command prints."""

    def __init__(self, *, as_json: bool, quiet: bool, colour: bool = True) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self._is_told = False
        for stream in (sys.stdout, sys.stderr):
            # A text that the terminal's encoding does not have ends no command.
            if reconfigure := getattr(stream, "reconfigure", None):
                reconfigure(errors="backslashreplace")
        self.stdout = _console(sys.stdout, colour=colour)
        self.stderr = _console(sys.stderr, colour=colour)

    @property
    def is_terminal(self) -> bool:
        """Whether a person looks at stdout."""
        return self.stdout.is_terminal

    def result(self, document: Response | Mapping[str, Any], show: Callable[[], None]) -> None:
        """Prints what was asked for: with ``--json`` the document, else what ``show`` prints."""
        if isinstance(document, Response):
            _ = document.body  # what is no JSON object is nobody's result
        if not self.as_json:
            show()
            return
        self._is_told = True
        self.raw_json(document.text if isinstance(document, Response) else _dumped(document))

    def failed(self, error: Mapping[str, Any]) -> None:
        """Prints with ``--json`` why there is no result, unless there is one."""
        if self.as_json and not self._is_told:
            self.raw_json(_dumped({"error": error}))

    def raw_json(self, text: str) -> None:
        """Prints JSON as it is; unseen characters, which stand in strings only, as escapes."""
        sys.stdout.write(_UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text.rstrip("\n")))
        sys.stdout.write("\n")

    def line(self, text: str = "", style: str = "") -> None:
        """Prints a line of the result; nothing in it is markup."""
        self.text(Text(visible(text), style=style))

    def text(self, text: Text) -> None:
        """Prints styled text, whose parts were made visible. A pipe gets it plain, tabs and all.

        No line break is put into it: an address, a key or a command is copied as it is.
        """
        if self.is_terminal:
            self.stdout.print(text, soft_wrap=True)
        else:
            sys.stdout.write(f"{text.plain}\n")

    def made(self, name: object, sentence: str) -> None:
        """Prints what was made or done: a sentence, and with ``--quiet`` the id alone."""
        self.line(str(name) if self.quiet else sentence)

    def note(self, text: str) -> None:
        """Says something beside the result, on stderr; nothing with ``--quiet``."""
        if not self.quiet:
            self.stderr.print(Text(visible(text)), soft_wrap=True)

    def warn(self, text: str) -> None:
        """Says on stderr what must not be overlooked, also with ``--quiet``."""
        self.stderr.print(Text(visible(text), style="yellow"), soft_wrap=True)

    def error(self, text: str) -> None:
        """Says on stderr why the command failed, also with ``--quiet``."""
        self.stderr.print(Text(visible(f"error: {text}"), style="red"), soft_wrap=True)

    def shown(self, text: str, style: str = "") -> None:
        """Shows on stderr what a question to the user is about, also with ``--quiet``."""
        self.stderr.print(Text(visible(text), style=style))

    def asked(self, question: str) -> str | None:
        """Asks on stderr, and returns the line that is said on stdin, None at its end."""
        self.stderr.print(Text(question), end="")
        line = sys.stdin.readline()
        return line.strip() if line else None

    def rows(self, columns: Sequence[str], rows: Sequence[Sequence[Cell]], empty: str) -> None:
        """Prints a list: a table for a person, lines with tabs and a head for a program."""
        if not self.is_terminal:
            for line in [columns, *rows][bool(self.quiet) :]:
                self.line("\t".join(one_line(_cell(cell)) for cell in line))
        elif rows:
            named = zip(columns, zip(*rows, strict=True), strict=True)
            self._table([Column.of(name, values) for name, values in named])
        else:
            self.note(empty)

    def listed(
        self,
        name: str,
        found: tuple[list[Any], bool],
        columns: Sequence[str],
        empty: str,
        *,
        cells: Callable[[Any], Sequence[Cell]] | None = None,
        fewer: str = "",
        **beside: Any,
    ) -> None:
        """Prints rows of the API, and whether there are more; ``columns`` are their members.

        Else ``cells`` says what a row has in them, and ``fewer`` what asks for less than all.
        """
        rows, has_more = found
        row_of = cells or itemgetter(*columns)
        self.result(
            {**beside, name: rows, "has_more": has_more},
            lambda: self.rows(columns, [row_of(row) for row in rows], empty),
        )
        if has_more:
            self.note(f"there are more than {len(rows)}: --limit 0{fewer}")

    def fields(self, values: Mapping[str, Cell]) -> None:
        """Prints names and values, one a line; None is left out."""
        shown = {name: _cell(value) for name, value in values.items() if value is not None}
        width = max(map(len, shown), default=0)
        for name, value in shown.items():
            if not self.is_terminal:
                self.line(f"{name}\t{one_line(value)}")
                continue
            grid = Table.grid(padding=(0, 2))
            grid.add_column(width=width, style="dim")
            grid.add_column(overflow="fold")
            grid.add_row(Text(name), Text(_TIME.sub(r"\1 \2 UTC", visible(value))))
            self.stdout.print(grid)

    def hanging(self, head: Text, text: Text) -> None:
        """Prints styled texts, which were made visible: the second hangs behind the first."""
        if not self.is_terminal:
            indent = "\n" + " " * head.cell_len
            self.line(head.plain + text.plain.replace("\n", indent))
            return
        grid = Table.grid()
        grid.add_column(width=head.cell_len)
        grid.add_column(overflow="fold")
        grid.add_row(head, text)
        self.stdout.print(grid)

    @contextmanager
    def progress(self, first: str) -> Iterator[Tell]:
        """Gives a function that says how far something is: a line with a bar, on stderr.

        It is seen in a terminal only, and gone when it is over.
        """
        if self.quiet or not self.stderr.is_terminal:
            yield lambda text, share=None: None  # noqa: ARG005 - nobody looks
            return
        words = TextColumn("{task.description}", markup=False)
        columns = SpinnerColumn(), BarColumn(bar_width=24), words
        with Progress(*columns, console=self.stderr, transient=True) as shown:
            bar = shown.add_task(visible(first), total=None)

            def report(text: str, share: float | None = None) -> None:
                total = None if share is None else 1.0
                shown.update(bar, description=visible(text), completed=share or 0.0, total=total)

            yield report

    def _table(self, columns: Sequence[Column]) -> None:
        """A table, or where not even words fit into its columns, a block of lines a row."""
        gaps = 2 * (len(columns) - 1)
        widths = _widths(columns, self.stdout.width - gaps)
        if widths is None:
            for place in range(len(columns[0].cells)):
                self.fields({each.head: each.cells[place] for each in columns})
                self.line()
            return
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        for each, width in zip(columns, widths, strict=True):
            table.add_column(
                each.head,
                width=width,
                justify="right" if each.is_number else "left",
                overflow="ellipsis" if each.is_preview else "fold",
                no_wrap=each.is_preview,
            )
        for line in zip(*(each.shown for each in columns), strict=True):
            table.add_row(*map(Text, line))
        self.stdout.print(table)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a list for a person: numbers and times stay whole, texts may be folded.

    A preview, the last column where that is called ``text``, is cut.
    """

    head: str
    cells: list[str]
    is_number: bool
    is_preview: bool

    @classmethod
    def of(cls, name: str, values: Sequence[Cell]) -> Column:
        """A column with its heading."""
        given = [each for each in values if each is not None]
        is_number = bool(given) and all(type(each) is int for each in given)
        head = name.removesuffix("_count").replace("_", " ")
        return cls(head, [one_line(_cell(each)) for each in values], is_number, name == "text")

    @property
    def shown(self) -> list[str]:
        """The cells, of times what a person needs."""
        return [_TIME.sub(r"\1 \2", each) for each in self.cells]

    @property
    def natural(self) -> int:
        """The width in which nothing is folded."""
        return max(map(cell_len, [self.head, *self.shown]))

    def least(self, *, folds_times: bool) -> int:
        """The width below which it is not to be read."""
        if not folds_times and any(map(_TIME.match, self.cells)):
            return self.natural
        words = [word for each in [self.head, *self.shown] for word in each.split()]
        longest = max(map(cell_len, words), default=1)
        return min(longest, PREVIEW if self.is_preview else WORD)


def _widths(columns: Sequence[Column], room: int) -> list[int] | None:
    """How wide each column is, texts narrowed before times; None where there is no room."""
    for folds_times in (False, True):
        least = [each.least(folds_times=folds_times) for each in columns]
        if sum(least) <= room:
            break
    else:
        return None
    widths = [each.natural for each in columns]
    while sum(widths) > room:
        spare = [place for place, width in enumerate(widths) if width > least[place]]
        widths[max(spare, key=widths.__getitem__)] -= 1
    return widths


def _console(stream: TextIO, *, colour: bool) -> Console:
    return Console(
        file=stream,
        force_terminal=stream.isatty(),
        no_color=None if colour else True,
        markup=False,
        emoji=False,
        highlight=False,
    )


def _dumped(document: Mapping[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False)


def _cell(value: Cell) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return " ".join(map(str, value)) or "–"
    return str(value)
