"""What a person sees: lists in terminals of several widths, and what is copied out of them."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout

import pytest
from rich.text import Text

from context_search_cli.output import Output

Print = Callable[[Output], None]
TIME = "2026-11-24T02:46:12.498075+00:00"
COLUMNS = ("id", "name", "matches_count", "scopes", "created_at", "ended_at")
ROW = (7, "harbour", 5, ["search", "manage"], TIME, TIME)
ADDRESS = f"https://search.example.org/console#/once/{'x' * 43}"


class Terminal(io.StringIO):
    """A screen."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Print], list[str]]:
    """The lines that something prints in a terminal of a width."""

    def lines(width: int, show: Print) -> list[str]:
        screen = Terminal()
        monkeypatch.setenv("COLUMNS", str(width))
        with redirect_stdout(screen):
            show(Output(as_json=False, quiet=False, colour=False))
        return [Text.from_ansi(line).plain.rstrip() for line in screen.getvalue().splitlines()]

    return lines


def listing(out: Output) -> None:
    out.rows(COLUMNS, [ROW], "none")


def test_a_list_is_a_table_where_there_is_room(seen: Callable[[int, Print], list[str]]) -> None:
    head, row = seen(100, listing)
    assert head.split() == ["id", "name", "matches", "scopes", "created", "at", "ended", "at"]
    assert row == " 7  harbour        5  search manage  2026-11-24 02:46  2026-11-24 02:46"


def test_words_and_then_times_are_folded_where_they_end(
    seen: Callable[[int, Print], list[str]],
) -> None:
    assert "search  " in seen(70, listing)[1]
    assert seen(70, listing)[1].count("02:46") == 2
    assert seen(60, listing)[1].split()[-2:] == ["2026-11-24", "2026-11-24"]
    for width in range(52, 100):
        lines = seen(width, listing)
        assert max(map(len, lines)) <= width
        assert {"harbour", "search", "manage", "02:46"} <= set(" ".join(lines).split())


def test_a_list_without_room_for_its_words_is_told_line_by_line(
    seen: Callable[[int, Print], list[str]],
) -> None:
    assert seen(40, listing) == [
        *("id          7", "name        harbour", "matches     5", "scopes      search manage"),
        *("created at  2026-11-24 02:46 UTC", "ended at    2026-11-24 02:46 UTC", ""),
    ]


def test_a_preview_is_cut(seen: Callable[[int, Print], list[str]]) -> None:
    rows = [["notes", "北上车站" * 20], ["long", "word " * 40]]
    for line in seen(40, lambda out: out.rows(("key", "text"), rows, ""))[1:]:
        assert line.endswith("…")


def test_what_is_copied_has_no_line_break_of_ours(seen: Callable[[int, Print], list[str]]) -> None:
    assert seen(40, lambda out: out.line(ADDRESS)) == [ADDRESS]


def test_a_passage_hangs_behind_its_margin(seen: Callable[[int, Print], list[str]]) -> None:
    text = f"{'A lamp.' * 9}\n{'北上' * 30}"
    for line in seen(40, lambda out: out.hanging(Text("    "), Text(text))):
        assert line.startswith("    ")


def test_a_yes_stands_where_words_stand(seen: Callable[[int, Print], list[str]]) -> None:
    reported = seen(40, lambda out: out.rows(("status", "n"), [[True, 1], [False, 20]], ""))
    assert reported[1:] == ["yes      1", "no      20"]
