"""Two Search Tools on judged questions: the verdict, the file, the exit code."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from context_search.ranking.measures import TextRange
from evaluation.__main__ import main
from evaluation.compare import compare, read_judged
from evaluation.jsonl import UnreadableError
from evaluation.judged import Question

GOOD, BAD, MISSING, DEGRADED, BUSY, OTHER = 1, 2, 3, 4, 5, 6
QUESTIONS = [
    Question(f"question {n}", (TextRange("/body", 10 * n, 10 * n + 5),)) for n in range(20)
]
LINES = [
    {
        "query": question.text,
        "relevant": [{"json_pointer": s.pointer, "char_start": s.start, "char_end": s.end}],
    }
    for question in QUESTIONS
    for s in question.gold
]


def ask(tool_id: int, question: str) -> list[TextRange]:
    """Tool 2 never has the answer, every other one has it first."""
    start = 900 if tool_id == BAD else 10 * int(question.split()[1])
    return [TextRange("/body", start, start + 10)]


class Handler(BaseHTTPRequestHandler):
    """Answers like a deployment whose tools are those of ``ask``."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.headers["Authorization"] == "Bearer key-1"
        tool_id = int(self.path.split("/")[4])
        if tool_id == BUSY and not self.server.asked_before:  # type: ignore[attr-defined]
            self.server.asked_before = True  # type: ignore[attr-defined]
            self.send_response(429)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        spans = ask(tool_id, body["query"])
        results = [
            {"chunk": {"json_pointer": s.pointer, "char_start": s.start, "char_end": s.end}}
            for s in spans
        ]
        degraded = ["partial_index"] if tool_id == DEGRADED else []
        said: object = {"results": results, "retrieval": {"degraded": degraded}}
        if tool_id == OTHER:
            said = ["no answer of a search"]
        reply = json.dumps(said).encode()
        self.send_response(404 if tool_id == MISSING else 200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.asked_before = False  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("base", "candidate", "verdict"),
    [(GOOD, GOOD, "not worse"), (GOOD, BAD, "worse"), (BAD, GOOD, "better")],
)
def test_a_candidate_that_finds_less_is_worse_and_one_that_finds_more_better(
    base: int, candidate: int, verdict: str
) -> None:
    outcome = compare(ask, QUESTIONS, base, candidate)
    assert outcome.verdict == verdict
    assert list(outcome.lines())[-1] == f"candidate is {verdict} in ndcg@10"


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """The command without the deployment and the tools."""
    queries, key = tmp_path / "judged.jsonl", tmp_path / "key"
    queries.write_text("\n".join(map(json.dumps, LINES)))
    key.write_text("key-1\n")
    return ["compare", "--key-file", str(key), "--queries", str(queries), "--base", str(GOOD)]


@pytest.mark.parametrize(
    ("candidate", "code"), [(GOOD, 0), (BAD, 1), (MISSING, 2), (DEGRADED, 2), (BUSY, 0), (OTHER, 2)]
)
def test_the_command_ends_with_the_verdict(
    url: str, command: list[str], candidate: int, code: int
) -> None:
    assert main([*command, "--url", url, "--candidate", str(candidate)]) == code


def test_what_cannot_be_measured_is_not_worse(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = ["--url", "http://127.0.0.1:1", "--candidate", "2"]
    assert main([*command, *nowhere]) == 2
    assert main([*command, *nowhere, "--queries", "/nonsense"]) == 2
    assert main([*command, *nowhere, "--measure", "nonsense"]) == 2
    assert capsys.readouterr().err.count("not measured: ") == 3


@pytest.mark.parametrize(
    "line",
    [
        *("{}", '{"query": "x", "relevant": 5}', "not JSON", '{"query": 1, "relevant": [{}]}'),
        '{"query": " ", "relevant": []}',
        '{"query": "x", "relevant": [{"json_pointer": "body", "char_start": 0, "char_end": 5}]}',
        '{"query": "x", "relevant": [{"json_pointer": "/a~2", "char_start": 0, "char_end": 5}]}',
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "judged.jsonl"
    path.write_text(f"{json.dumps(LINES[0])}\n{line}\n")
    with pytest.raises(UnreadableError, match="line 2"):
        read_judged(path)


def test_a_question_that_nothing_answers_is_left_out_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "judged.jsonl"
    path.write_text(f'{json.dumps(LINES[0])}\n{{"query": "x", "relevant": []}}\n')
    assert read_judged(path) == QUESTIONS[:1]
    assert capsys.readouterr().err == "1 without a range left out\n"


def test_a_file_without_questions_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "judged.jsonl"
    path.write_text("\n")
    with pytest.raises(UnreadableError, match="no questions"):
        read_judged(path)
