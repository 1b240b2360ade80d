"""Judged questions by the command line: measured, compared, judged, kept."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import httpx2
import pytest

from context_search.ranking.measures import MEASURES
from context_search.searching.routes.measures import MAX_RANGES
from context_search_cli.concurrent import concurrently
from context_search_cli.evaluating import Measure
from context_search_cli.judged import MOST_QUESTIONS, MOST_RANGES, Question, question_of
from tests.builders import english
from tests.cli.running import CommandLine

LIGHT = "The keeper wound the clockwork of the lantern."
RENT = "The notice period of the lease is three months."
SHELF = "A tide table hangs on the quay."
TEXT = f"{LIGHT}\n{english(60)}\n{RENT}\n{english(61)}"


def line(query: str, words: str, pointer: str = "/notes") -> dict[str, Any]:
    start = TEXT.index(words)
    place = {"json_pointer": pointer, "char_start": start, "char_end": start + len(words)}
    return {"query": query, "relevant": [place]}


def on_shelf(query: str) -> dict[str, Any]:
    """Judged to be answered where no word of it stands."""
    place = {"json_pointer": "/shelf", "char_start": 0, "char_end": len(SHELF)}
    return {"query": query, "relevant": [place]}


def answered_in(file: Path) -> list[Question]:
    """The questions of a file that have a range which answers."""
    read = map(question_of, file.read_text().splitlines())
    return [question for question in read if question.gold]


def lines(*rows: object) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


JUDGED = lines(line("keeper clockwork lantern", LIGHT), line("notice period lease", RENT))


@pytest.fixture
def table(cli: CommandLine) -> int:
    return cli.table({"notes": TEXT, "shelf": SHELF})


@pytest.fixture
def tool(cli: CommandLine, table: int) -> int:
    return cli.tool(table, "--strategy", "keyword")


@pytest.fixture
def narrow(cli: CommandLine, table: int) -> int:
    """A tool that searches a part of the table, and finds no answer there."""
    return cli.tool(table, "--scope", "/shelf", "--strategy", "keyword")


@pytest.fixture
def judged(cli: CommandLine) -> Path:
    return cli.file("judged.jsonl", JUDGED)


def test_every_measure_of_the_server_can_decide() -> None:
    assert get_args(Measure) == MEASURES


def test_more_questions_than_the_server_takes_are_not_asked(cli: CommandLine, tool: int) -> None:
    many = cli.file("many.jsonl", lines(line("keeper", LIGHT)) * (MOST_QUESTIONS + 1))
    refused = cli("eval", "run", many, "--tool", tool)
    assert (refused.code, "at most 1,000 are measured in one run" in refused.err) == (2, True)
    assert not [path for path in cli.paths("POST") if path.endswith(f"/{tool}/search")]


def test_more_ranges_than_the_server_takes_are_not_asked(cli: CommandLine, tool: int) -> None:
    assert MOST_RANGES == MAX_RANGES
    question = line("keeper", LIGHT)
    question["relevant"] *= MOST_RANGES + 1
    many = cli.file("many.jsonl", lines(question))
    refused = cli("eval", "run", many, "--tool", tool)
    assert (refused.code, "at most 20,000 are measured in one run" in refused.err) == (2, True)
    assert not [path for path in cli.paths("POST") if path.endswith(f"/{tool}/search")]


def test_a_tool_is_measured(cli: CommandLine, tool: int, judged: Path) -> None:
    found = cli.json("eval", "run", judged, "--tool", tool)
    assert (found["questions"], found["measures"]["ndcg@10"]["mean"]) == (2, 1.0)
    result = cli.done("eval", "run", judged, "--tool", tool)
    assert result.lines[3] == ["ndcg@10", "1.000", "1.000", "1.000"]
    assert "2 questions" in result.err


def test_every_question_has_its_figures(cli: CommandLine, tool: int, narrow: int) -> None:
    half = [line("keeper clockwork lantern", LIGHT), on_shelf("notice period lease")]
    judged = cli.file("judged.jsonl", lines(*half))
    first, second = cli.json("eval", "run", judged, "--tool", tool)["by_question"]
    assert first["query"] == "keeper clockwork lantern"
    assert set(first["measures"]) == set(MEASURES)
    assert (first["measures"]["recall@1"], second["measures"]["recall@1"]) == (1.0, 0.0)
    pair = ("eval", "compare", "--queries", judged, "--base", tool, "--candidate", narrow)
    one, _ = cli(*pair, "--json").document["by_question"]
    assert (one["base"]["recall@1"], one["candidate"]["recall@1"]) == (1.0, 0.0)
    found = cli(*pair, "--json").document
    mean = sum(each["base"]["mrr@10"] for each in found["by_question"]) / 2
    assert mean == pytest.approx(found["measures"]["mrr@10"]["base"])


def test_a_tool_that_finds_less_is_worse(cli: CommandLine, tool: int, narrow: int) -> None:
    judged = cli.file("judged.jsonl", (JUDGED + lines(on_shelf("keeper"))) * 4)
    pair = ("eval", "compare", "--queries", judged)
    worse = cli(*pair, "--base", tool, "--candidate", narrow, "--json")
    assert (worse.code, worse.document["verdict"]) == (1, "worse")
    assert worse.document["measures"]["ndcg@10"]["difference"]["mean"] == pytest.approx(
        -2 / 3, abs=1e-6
    )
    better = cli.done(*pair, "--base", narrow, "--candidate", tool)
    assert better.out.endswith("candidate is better in ndcg@10\n")


def test_a_draft_is_compared_with_the_tool(cli: CommandLine, tool: int, judged: Path) -> None:
    pair = ("eval", "compare", "--queries", judged, "--base", tool)
    found = cli.json(*pair, "--draft", "strategy=hybrid,bm25=.5", "--draft", "vector=0.5")
    draft = {"strategy": "hybrid", "bm25_weight": 0.5, "vector_weight": 0.5}
    assert (found["draft"], found["verdict"]) == (draft, "not worse")
    asked = [each for each in cli.network.requests if each.url.path.endswith("/explain")]
    assert json.loads(asked[0].content)["config"] == draft
    assert cli(*pair).code == 2


@pytest.mark.parametrize(
    ("wrong", "reported"),
    [
        ("top_k=5", "KEY=VALUE with one of fusion, strategy, bm25"),
        ("vector", "KEY=VALUE"),
        ("vector=", "KEY=VALUE"),
        ("vector=much", "a number from 0 to 1, or null"),
        ("keyword=1.5", "a number from 0 to 1, or null"),
        ("bm25=nan", "a number from 0 to 1, or null"),
        ("fusion=foo", "one of convex, rrf, linear"),
        ("strategy=foo", "one of hybrid, semantic, keyword"),
        ("rerank=1", "null"),
    ],
)
def test_a_draft_that_is_none_is_told_as_it_was_typed(
    cli: CommandLine, judged: Path, wrong: str, reported: str
) -> None:
    refused = cli("eval", "run", judged, "--tool", 1, "--draft", f"vector=.5,{wrong}")
    assert (refused.code, f"error: --draft {wrong}: {reported}" in refused.err) == (2, True)


def test_a_request_for_measures_has_numbers_for_pointers(cli: CommandLine) -> None:
    key = "k" * 2_000
    tool = cli.tool(cli.table({key: TEXT}), "--strategy", "keyword")
    judged = cli.file("judged.jsonl", lines(line("keeper clockwork lantern", LIGHT, f"/{key}")))
    found = cli.json("eval", "run", judged, "--tool", tool)
    assert found["measures"]["recall@20"]["mean"] == 1
    [asked] = [each for each in cli.network.requests if each.url.path.endswith("/measures")]
    assert key.encode() not in asked.content


def test_four_questions_are_asked_at_once_and_counted_in_order(
    cli: CommandLine, tool: int, narrow: int
) -> None:
    half = [line("keeper clockwork lantern", LIGHT), on_shelf("keeper clockwork lantern")] * 4
    judged = cli.file("judged.jsonl", lines(*half))
    four = threading.Barrier(4)

    def together(request: httpx2.Request) -> httpx2.Response | None:
        if request.url.path.endswith(f"/{tool}/search"):
            four.wait(30)  # breaks where fewer than four are under way
        return None

    cli.network.before.append(together)
    pair = ("eval", "compare", "--queries", judged, "--base", tool, "--candidate", narrow)
    result = cli(*pair, "--json")
    found = result.document
    assert result.code == 1
    assert found["questions"] == 8
    assert found["measures"]["recall@1"]["base"] == 0.5
    assert found["measures"]["recall@1"]["difference"]["mean"] == -0.5
    assert len([path for path in cli.paths("POST") if path.endswith("/search")]) == 2 * 8 + 2


def test_a_slow_answer_keeps_no_other_from_being_asked_for() -> None:
    """The first answer comes last."""
    is_last = threading.Semaphore(0)
    done: list[int] = []

    def work(item: int) -> None:
        if item == 0:
            for _ in range(9):
                assert is_last.acquire(timeout=30)
        done.append(item)
        is_last.release()

    counts: list[int] = []
    concurrently(work, range(10), reported=counts.append)
    assert (done[-1], sorted(done)) == (0, list(range(10)))
    assert counts == list(range(1, 11))
    concurrently(work, [], reported=counts.append)
    assert len(counts) == 10


@pytest.mark.parametrize("error", [KeyboardInterrupt(), httpx2.ReadError("gone")])
def test_a_run_that_is_stopped_asks_no_more_and_prints_no_figure(
    cli: CommandLine, tool: int, error: BaseException
) -> None:
    judged = cli.file("judged.jsonl", JUDGED * 50)
    cli.network.meets("/search$", error)
    result = cli("eval", "run", judged, "--tool", tool)
    assert (result.code, result.out) == (130 if isinstance(error, KeyboardInterrupt) else 5, "")
    asked = len(cli.network.requests)
    assert asked < 50
    cli.network.before.clear()
    assert cli.json("eval", "run", judged, "--tool", tool)["questions"] == 100


def degraded(code: str, tool: int) -> Callable[[httpx2.Request], httpx2.Response | None]:
    """The answer of a tool to questions about keepers."""

    def answer(request: httpx2.Request) -> httpx2.Response | None:
        if request.url.path.endswith(f"/{tool}/search") and b"keeper" in request.content:
            body = {"results": [], "retrieval": {"degraded": [code]}}
            return httpx2.Response(200, json=body)
        return None

    return answer


def test_what_is_answered_degraded_is_asked_again(
    cli: CommandLine, tool: int, judged: Path
) -> None:
    table = cli.json("tools", "show", tool)["table_id"]
    cli.done("tables", "set", table, "/new", "-", "--text", stdin=TEXT)
    ask = ("eval", "run", judged, "--tool", tool)
    ended = cli(*ask, "--timeout", 0, "--json")
    error = ended.document["error"]
    assert (ended.code, error["code"], error["retryable"]) == (5, "NOT_MEASURED", True)
    assert (error["degraded"], error["query"]) == (["partial_index"], "keeper clockwork lantern")
    assert f"context-search status {tool}" in ended.err
    assert "--timeout" in ended.err
    result = cli.done(*ask, "--json")  # while it waits, the index becomes whole
    assert (result.document["questions"], cli.pauses[-1]) == (2, 1.0)
    assert "asking again in 1 s" in result.err


def test_asking_again_has_an_end(cli: CommandLine, tool: int) -> None:
    judged = cli.file("judged.jsonl", lines(line("keeper clockwork lantern", LIGHT)))
    cli.pauses.clear()
    cli.network.before += [degraded("embed_timeout", tool)] * 9
    assert cli("eval", "run", judged, "--tool", tool, "--timeout", 20).code == 5
    assert cli.pauses == [1, 2, 4, 8]


def test_what_stays_degraded_may_be_left_out(cli: CommandLine, tool: int, judged: Path) -> None:
    ask = ("eval", "run", judged, "--tool", tool, "--skip-degraded")
    cli.pauses.clear()
    cli.network.before.append(degraded("query_cut", tool))
    result = cli.done(*ask, "--json")
    assert result.document["not_measured"] == ["keeper clockwork lantern"]
    assert result.document["questions"] == len(result.document["by_question"]) == 1
    assert "1 question left out" in result.err
    assert cli.pauses == []  # it would be answered so for ever
    alone = cli.file("alone.jsonl", JUDGED.splitlines()[0])
    cli.network.before.append(degraded("query_cut", tool))
    nothing = cli("eval", "run", alone, "--tool", tool, "--skip-degraded", "--json")
    assert (nothing.code, nothing.document["error"]["code"]) == (5, "NOT_MEASURED")
    cli.network.before.append(degraded("query_cut", tool))
    ended = cli("eval", "run", judged, "--tool", tool, "--json").document["error"]
    assert ended["retryable"] is False


@pytest.fixture
def many(cli: CommandLine) -> Path:
    """Twenty judged questions."""
    return cli.file("many.jsonl", lines(*(line(f"keeper {n}", LIGHT) for n in range(20))))


def test_an_outage_is_waited_for_once_also_where_questions_may_be_left_out(
    cli: CommandLine, tool: int, many: Path
) -> None:
    """Not a minute a question: every one of them is answered degraded."""
    cli.pauses.clear()
    cli.network.before += [degraded("embed_timeout", tool)] * 200
    result = cli("eval", "run", many, "--tool", tool, "--timeout", 20, "--skip-degraded", "--json")
    error = result.document["error"]
    assert (result.code, error["code"], error["retryable"]) == (5, "NOT_MEASURED", True)
    assert "all other questions" in error["detail"]
    assert sum(cli.pauses) <= 4 * 20


def refused(cli: CommandLine, answered: int, how: httpx2.Response | None = None) -> None:
    """After so many answers to questions the server is gone, or says so."""
    left = [answered]

    def before(request: httpx2.Request) -> httpx2.Response | None:
        if not request.url.path.endswith(("/search", "/explain")):
            return None
        left[0] -= 1
        if left[0] >= 0:
            return None
        if how is None:
            raise httpx2.ConnectError("Connection refused", request=request)
        cli.network.before.append(before)  # for the next; one that has answered is used up
        return how

    cli.network.before.append(before)


@pytest.mark.parametrize("status", [None, 503])
def test_what_was_measured_before_an_outage_is_printed(
    cli: CommandLine, tool: int, many: Path, status: int | None
) -> None:
    how = status and httpx2.Response(status, json={"code": "BUSY", "retryable": True})
    refused(cli, 6, how or None)
    result = cli("eval", "run", many, "--tool", tool, "--json")
    reported = result.document
    assert (result.code, reported["error"]["exit"]) == (5, 5)
    assert (
        reported["questions"]
        == len(reported["by_question"])
        == 20 - len(reported["not_measured"])
        == 6
    )
    assert reported["measures"]["ndcg@10"]["mean"] > 0
    assert "14 questions not measured" in result.err
    shown = cli("eval", "run", many, "--tool", tool)
    assert (shown.code, shown.out) == (5, "")  # nothing was measured: there is no figure


def test_an_outage_that_lasts_leaves_no_figure(cli: CommandLine, tool: int, many: Path) -> None:
    """The server would have measured what it answered before."""
    refused(cli, 6)
    cli.network.meets("/measures$", httpx2.ConnectError("Connection refused"))
    result = cli("eval", "run", many, "--tool", tool)
    assert (result.code, result.out) == (5, "")
    assert "cannot be reached" in result.err


def test_a_comparison_that_an_outage_ends_is_no_verdict_for_a_shell(
    cli: CommandLine, table: int, tool: int, many: Path
) -> None:
    other = cli.tool(table)
    refused(cli, 12)
    result = cli("eval", "compare", "--queries", many, "--base", tool, "--candidate", other)
    assert result.code == 5
    assert "ndcg@10" in result.out
    assert "cannot be reached" in result.err


@pytest.mark.parametrize(
    "wrong",
    [
        "[]",
        '{"query": 5, "relevant": []}',
        '{"query": "x"}',
        '{"query": "x", "relevant": [{"json_pointer": "/a", "char_start": 5, "char_end": 5}]}',
    ],
)
def test_a_line_of_another_form_is_named(cli: CommandLine, tool: int, wrong: str) -> None:
    path = cli.file("wrong.jsonl", f"{JUDGED}\n{wrong}\n")
    result = cli("eval", "run", path, "--tool", tool)
    assert (result.code, "line 4: " in result.err) == (2, True)


def test_a_set_is_kept_with_the_project(cli: CommandLine, tool: int, judged: Path) -> None:
    unanswered = lines({"query": "what is not there?", "relevant": []})
    cli.done("eval", "sets", "put", "harbour", judged)
    assert cli.done("eval", "sets", "get", "harbour").out == JUDGED
    taken = cli("eval", "sets", "put", "harbour", judged)
    assert (taken.code, "--replace" in taken.err) == (4, True)
    cli.done("eval", "sets", "put", "harbour", "-", "--replace", stdin=JUDGED + unanswered)
    [row] = cli.json("eval", "sets", "list")["judged_sets"]
    assert (row["name"], row["questions"]) == ("harbour", 3)
    result = cli.done("eval", "run", "harbour", "--tool", tool)
    assert "1 question without" in result.err
    assert cli("eval", "sets", "delete", "harbour").code == 2
    cli.done("eval", "sets", "delete", "harbour", "--yes")
    assert cli("eval", "run", "harbour", "--tool", tool).code == 3
    assert cli("eval", "sets", "get", "../keys").code == 2
    assert cli("eval", "sets", "put", "x", cli.folder / "nowhere").code == 2


def test_passages_are_judged_blind_and_measured(cli: CommandLine, table: int, tool: int) -> None:
    other = cli.tool(table)
    asked = cli.file("questions.txt", "keeper clockwork lantern\n\nnotice period lease\n")
    out = cli.folder / "mine.jsonl"
    words = ("eval", "judge", asked, "--tool", tool, "--tool", other, "--depth", 1, "-o", out)
    # Both find the same passage, which is shown once.
    first = cli.done(*words, stdin="nonsense\n3\nq\n")
    assert "tool" not in first.out + first.err
    assert "relevance" not in first.err
    assert "0 nothing" in first.err
    [judged] = answered_in(out)
    assert judged.text == "keeper clockwork lantern"
    again = cli.json(*words, stdin="1\n")
    assert again == {"judged": 1, "without_answer": 1, "file": str(out)}
    mentioned = json.loads(out.read_text().splitlines()[1])
    assert (mentioned["relevant"], mentioned["others"][0]["grade"]) == ([], 1)
    assert [each.text for each in answered_in(out)] == ["keeper clockwork lantern"]
    cli.done("eval", "sets", "put", "mine", out)
    assert "0 of 2 questions left" in cli.done(*words).err
    assert cli.json("eval", "run", out, "--tool", tool)["measures"]["recall@1"]["mean"] > 0


def test_a_judgment_may_be_some_words(cli: CommandLine, tool: int) -> None:
    asked = cli.file("asked.jsonl", lines({"query": "notice period lease"}))
    out = cli.file("mine.jsonl", JUDGED.splitlines()[0])  # without a line break at its end
    words = ("eval", "judge", asked, "--tool", tool, "--depth", 1, "-o", out)
    result = cli.done(*words, stdin="2 of nobody\n3 lease   is three\n")
    assert "does not have these words" in result.err
    *_, judged = answered_in(out)
    start = TEXT.index("lease is three")
    assert [(place["char_start"], place["char_end"]) for place in judged.gold] == [
        (start, start + 14)
    ]
    assert json.loads(out.read_text().splitlines()[1])["relevant"][0]["grade"] == 3
    assert cli("eval", "judge", "-", "--tool", tool, "-o", out).code == 2
    nowhere = cli.folder / "none" / "mine.jsonl"
    before = len(cli.network.requests)
    assert cli("eval", "judge", asked, "--tool", tool, "-o", nowhere).code == 2
    assert len(cli.network.requests) == before  # nobody judges in vain


def test_a_skipped_question_comes_again(cli: CommandLine, tool: int) -> None:
    asked = cli.file("asked.txt", "notice period lease")
    out = cli.folder / "mine.jsonl"
    words = ("eval", "judge", asked, "--tool", tool, "--depth", 1, "-o", out)
    assert cli.json(*words, stdin="s\n")["judged"] == 0
    nothing = cli.done(*words, stdin="")
    assert nothing.out == "0 questions judged: nothing is written\n"
    assert not out.exists()
    assert cli.json(*words, stdin="")["file"] is None
    assert cli.json(*words, stdin="3\n")["judged"] == 1
    assert "0 of 1 question left" in cli.done(*words).err


def test_a_file_of_plain_questions_is_told_what_makes_them_judged(cli: CommandLine) -> None:
    plain = cli.file("plain.txt", "How is the clockwork wound?\n")
    reported = cli("eval", "run", plain, "--tool", 1)
    assert reported.code == 2
    assert "line 1: no JSON object" in reported.err
    assert "context-search eval judge" in reported.err
