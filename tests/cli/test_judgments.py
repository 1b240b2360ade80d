"""What the figures of ``eval`` stand on: ranges that a tool searches, hits that are judged."""

from __future__ import annotations

import pytest

from tests.cli.running import CommandLine
from tests.cli.test_evaluating import JUDGED, LIGHT, SHELF, TEXT, line, lines, on_shelf

ELSEWHERE = line("keeper clockwork lantern", LIGHT, "/title")
BEHIND = {
    "query": "keeper clockwork lantern",
    "relevant": [{"json_pointer": "/notes", "char_start": 5, "char_end": len(TEXT) + 1}],
}


@pytest.fixture
def table(cli: CommandLine) -> int:
    return cli.table({"notes": TEXT, "shelf": SHELF, "title": "too short"})


@pytest.fixture
def tool(cli: CommandLine, table: int) -> int:
    return cli.tool(table, "--strategy", "keyword")


@pytest.fixture
def stranger(cli: CommandLine) -> int:
    """A tool of another table."""
    return cli.tool(cli.table({"other": TEXT}, "other"))


def test_ranges_that_a_tool_does_not_search_are_counted(cli: CommandLine, tool: int) -> None:
    nowhere = line("keeper", LIGHT, "no pointer")
    judged = cli.file("judged.jsonl", JUDGED + lines(ELSEWHERE, BEHIND, nowhere))
    result = cli.done("eval", "run", judged, "--tool", tool, "--json")
    told = f"3 of 5 judged ranges are not in what tool {tool} searches (1 for an end behind"
    assert told in result.err
    found = result.document["judged"]
    assert (found["ranges"], found["ranges_not_searched"]) == (5, 3)
    assert found["ranges_behind_text"] == 1
    whole = cli.done("eval", "run", cli.file("whole.jsonl", JUDGED), "--tool", tool)
    assert "not in what" not in whole.err


def test_each_tool_of_a_comparison_has_its_own_count(
    cli: CommandLine, tool: int, table: int
) -> None:
    judged = cli.file("judged.jsonl", JUDGED + lines(on_shelf("tide table quay")))
    narrow = cli.tool(table, "--scope", "/shelf")
    pair = ("eval", "compare", "--queries", judged, "--base", tool, "--candidate", narrow)
    result = cli(*pair, "--json")
    assert f"2 of 3 judged ranges are not in what tool {narrow} searches" in result.err
    assert f"tool {tool} searches" not in result.err
    counts = result.document["judged"]
    assert counts["base"]["ranges_not_searched"] == 0
    assert counts["candidate"]["ranges_not_searched"] == 2


def test_a_tool_that_searches_no_judged_range_is_not_measured(
    cli: CommandLine, tool: int, stranger: int
) -> None:
    judged = cli.file("judged.jsonl", JUDGED)
    pair = ("eval", "compare", "--queries", judged, "--base", tool, "--candidate", stranger)
    refused = cli(*pair, "--json")
    assert (refused.code, refused.document["error"]["code"]) == (2, "USAGE")
    assert f"2 of 2 judged ranges are not in what tool {stranger} searches" in refused.err
    assert not [path for path in cli.paths("POST") if path.endswith(f"/{tool}/search")]
    assert cli("eval", "run", judged, "--tool", stranger).code == 2
    assert cli("eval", "run", judged, "--tool", 999).code == 3  # nobody's
