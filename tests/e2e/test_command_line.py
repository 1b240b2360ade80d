"""The command line as a program: a process, a terminal, a pipe, a signal, the whole stack."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local.options import ROOT
from tests.builders import english
from tests.e2e.running import Tenant, user_environment
from tests.e2e.terminal import HEEDS, in_terminal

LARGE = {
    "notes": f"The keeper wound the clockwork. {english(20_000)}",
    "padding": ["x" * 1_000] * 6_500,
}
ROWS = range(100_000)
_UPLOADING = re.compile(rb"uploading: [1-9][0-9,]* of 100,000,000 bytes")
COMMAND = [sys.executable, "-m", "context_search_cli"]


@pytest.fixture
def environment(tenant: Tenant, tmp_path: Path) -> dict[str, str]:
    return user_environment() | {
        "PYTHONPATH": str(ROOT / "cli"),  # nothing of the server is in reach
        "HOME": str(tmp_path),
        "TERM": "xterm",
        "CONTEXT_SEARCH_URL": tenant.stack.base_url,
        "CONTEXT_SEARCH_KEY": tenant.key,
    }


def run(environment: dict[str, str], *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=environment["HOME"],
    )


def done(environment: dict[str, str], *words: object) -> str:
    result = run(environment, *words)
    assert result.returncode == 0, result.stderr
    assert environment["CONTEXT_SEARCH_KEY"] not in result.stdout + result.stderr
    return result.stdout


def test_the_first_quarter_of_an_hour(environment: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "harbour.json"
    path.write_text(json.dumps(LARGE))
    table = done(environment, "tables", "import", path, "-q").strip()
    tool = done(environment, "tools", "create", table, "--wait", "-q").strip()
    found = json.loads(done(environment, "search", "who wound the clockwork?", "--json"))
    assert "clockwork" in found["results"][0]["chunk"]["chunk_text"]
    assert "\x1b" not in done(environment, "search", "clockwork", "--tool", tool)
    plan = done(environment, "replace", "clockwork", "engine", "--yes", "-q").strip()
    done(environment, "undo", plan, "--yes")
    assert json.loads(done(environment, "tables", "get", table, "/notes")) == LARGE["notes"]
    checks = json.loads(done(environment, "doctor", "--upload", "--json"))["checks"]
    assert {each["check"]: each["state"] for each in checks}["upload"] != "wrong"


def test_ctrl_c_leaves_nothing_and_no_traceback(
    environment: dict[str, str], tenant: Tenant
) -> None:
    words = [*HEEDS, *COMMAND, "tables", "import", "-", "--name", "half"]
    with subprocess.Popen(
        words, env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"[" + b"0," * 1_000_000)  # more than a pipe holds: it reads
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        process.stdin.close()  # Ctrl-C ends the other end of a pipe, too
        reported = process.stderr.read().decode()
    assert process.returncode == 130, reported
    assert "Traceback" not in reported
    assert tenant.stack.sql("SELECT count(*) FROM context_table WHERE name = 'half'") == [[0]]


def test_a_reader_that_goes_away_is_no_failure_worth_a_traceback(
    environment: dict[str, str], tenant: Tenant
) -> None:
    table = tenant.table({"a": ["x" * 1_000] * 2_000})
    words = [*COMMAND, "tables", "get", str(table)]
    with subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        reported = process.stderr.read().decode()
    assert "Traceback" not in reported
    assert "Exception ignored" not in reported


@pytest.mark.parametrize(("said", "code", "text"), [(b"n\n", 1, "a"), (b"y\n", 0, "b")])
def test_a_person_is_asked_in_a_terminal(
    environment: dict[str, str], tenant: Tenant, said: bytes, code: int, text: str
) -> None:
    table = tenant.table({"t": "a"})
    environment |= {"NO_COLOR": "1"}
    words = [*COMMAND, "replace", "a", "b"]
    ended, printed = in_terminal(words, environment, said)
    assert ended == code, printed
    assert b"Replace 1 match in 1 table?" in printed
    assert b"\x1b[3" not in printed  # no colour
    assert tenant("GET", f"/api/v1/tables/{table}/data").json() == {"t": text}


@pytest.mark.slow
def test_an_import_of_100_mb_is_interrupted_and_repeated(
    environment: dict[str, str], tenant: Tenant, tmp_path: Path
) -> None:
    path = tmp_path / "hundred.jsonl"
    row = "x" * (1_000 - 27)
    with path.open("w") as lines:
        lines.writelines(f'{{"id": {1_000_000 + number}, "row": "{row}"}}\n' for number in ROWS)
    assert path.stat().st_size == 100_000_000
    words = ["tables", "import", str(path)]

    code, printed = in_terminal([*HEEDS, *COMMAND, *words], environment, until=_UPLOADING)
    assert code == 130, printed[-2000:]
    assert "━" in printed.decode()  # the bar
    assert b"Traceback" not in printed
    assert _tables(environment) == []

    whole = run(environment, *words)
    assert whole.returncode == 0, whole.stderr
    assert "uploading:" not in whole.stderr
    assert "\x1b" not in whole.stderr
    [table] = _tables(environment)
    assert (table["name"], table["revision"]) == ("hundred", 2)
    read = [run(environment, "tables", "get", table["id"], f"/{at}/id") for at in (0, 99_999)]
    assert [each.stdout for each in read] == ["1000000\n", "1099999\n"]
    assert run(environment, "tables", "get", table["id"], "/100000").returncode == 3


def _tables(environment: dict[str, str]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(
        done(environment, "tables", "list", "--filter", "hundred", "--json")
    )["tables"]
    return found
