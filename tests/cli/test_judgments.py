"""What the figures of ``eval`` stand on: ranges that a tool searches, hits that are judged."""

from __future__ import annotations

import json

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
    reported = f"3 of 5 judged ranges are not in what tool {tool} searches (1 for an end behind"
    assert reported in result.err
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


def test_hits_that_nobody_judged_are_counted(cli: CommandLine, tool: int, table: int) -> None:
    mute = cli.tool(table, "--scope", "/notes", "--strategy", "keyword")
    judged = cli.file("judged.jsonl", JUDGED.splitlines()[0])
    counts = cli.json("eval", "run", judged, "--tool", tool)["judged"]
    assert counts["hits"] > counts["hits_not_judged"] >= 0
    unjudged = cli.file("unjudged.jsonl", lines(on_shelf("keeper clockwork lantern")))
    result = cli.done("eval", "run", unjudged, "--tool", tool, "--json")
    found = result.document["judged"]
    assert found["hits"] == found["hits_not_judged"] == counts["hits"]
    assert f"tool {tool}: {found['hits']} of {found['hits']} hits are not judged" in result.err
    both = lines(on_shelf("keeper clockwork lantern"), line("tide", LIGHT))
    pair = ("eval", "compare", "--queries", cli.file("both.jsonl", both))
    compared = cli.json(*pair, "--base", tool, "--candidate", mute)["judged"]
    # Of the second question the base alone has a hit.
    assert compared["base"]["hits_not_judged"] == compared["candidate"]["hits_not_judged"] + 1


def test_what_was_judged_and_does_not_answer_is_read(cli: CommandLine, tool: int) -> None:
    row = on_shelf("keeper clockwork lantern")
    others = line("", TEXT[:90])["relevant"]
    counts = [
        cli.json("eval", "run", cli.file("one.jsonl", lines(each)), "--tool", tool)["judged"]
        for each in (row, {**row, "others": others})
    ]
    assert counts[0]["hits_not_judged"] > counts[1]["hits_not_judged"]
    wrong = cli("eval", "run", cli.file("bad.jsonl", lines({**row, "others": 1})), "--tool", tool)
    assert (wrong.code, "others must be" in wrong.err) == (2, True)


def test_of_judged_questions_the_new_passages_may_be_asked(
    cli: CommandLine, tool: int, table: int
) -> None:
    asked = cli.file("asked.txt", "keeper clockwork lantern\nnotice period lease\n")
    rest = {"query": "tide", "relevant": [], "note": "kept as it is"}
    out = cli.file("mine.jsonl", lines(rest) + JUDGED.strip())
    other = cli.tool(table, "--scope", "/shelf", "--strategy", "semantic")
    words = ("eval", "judge", asked, "--tool", other, "-o", out)
    assert cli.json(*words, stdin="3\n")["judged"] == 0
    assert cli.json(*words, "--new-passages", stdin="1\nq\n")["judged"] == 1
    first, second, third = map(json.loads, out.read_text().splitlines())
    assert (first, third) == (rest, json.loads(JUDGED.splitlines()[1]))
    assert second["relevant"] == json.loads(JUDGED.splitlines()[0])["relevant"]
    [seen] = second["others"]
    assert (seen["json_pointer"], seen["char_end"], seen["grade"]) == ("/shelf", len(SHELF), 1)
    # The first has nothing new any more.
    again = cli.done(*words, "--new-passages", stdin="3\n")
    assert again.err.count("passage 1 of 1") == 1
    last = json.loads(out.read_text().splitlines()[2])
    assert [each["json_pointer"] for each in last["relevant"]] == ["/notes", "/shelf"]
    nothing = cli.json(*words, "--new-passages", stdin="3\n")
    assert nothing == {"judged": 0, "without_answer": 0, "file": None}
    assert cli.json("eval", "run", out, "--tool", other)["judged"]["hits_not_judged"] == 0
