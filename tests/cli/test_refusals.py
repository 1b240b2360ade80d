"""What a command line says that no command takes: told in one form, before anything is sent."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import CommandLine, Result
from tests.e2e.terminal import HEEDS, in_terminal
from tests.web.api import SECRET

LARGE = 2**63
UNREADABLE = """
nonsense
tables nonsense
tables list --jsno
tables list --limit -1
tables show
tables show x
tables show 0
tables outline 1 --only x
whoami extra
"""
NUMBERS = f"""
tables show {LARGE}
tables import a.json --replace {LARGE}
tables import a.json --replace 1 --revision {LARGE}
tables set 1 /a --value 1 --revision {LARGE}
tables restore 1 {LARGE}
tables erase 1 {LARGE} --yes
tables outline 1 --tool {LARGE}
tables delete {LARGE} --yes
tools create {LARGE}
tools list --table {LARGE}
tools show {LARGE}
search lantern --tool {LARGE}
status {LARGE}
replace a b --table 1 --table {LARGE} --yes
replace a b --leave {LARGE} --yes
undo {LARGE}
eval run a.json --tool {LARGE}
eval compare --queries a.json --base 1 --candidate {LARGE}
keys revoke {LARGE} --yes
mcp create support --tool {LARGE}
mcp bind {LARGE} 1
ops clear {LARGE} --yes
"""
EMPTY = """
tables import a.json --name ''
tools create 1 --name ' '
tools update 1 --name ''
keys create --scope search --name ''
keys create --scope search --expires-in ''
whoami --profile ''
whoami --url ''
login --url ''
login --profile ''
logout --profile ''
"""
OUTPUTS = """
tables get 1 -o
keys create --scope search -o
keys rotate 1 -o
mcp create support -o
ops projects create acme -o
eval judge a.json --tool 1 -o
"""
NO_TEXT = """
search \udcff --tool 1
tables list --filter \udcff
tables get 1 /\udcff
tables set 1 /\udcff --value 1
tables import a.json --name \udcff
"""
OBJECTS = ["", "{", "[]", "1", "[" * 100_000]


def lines(text: str) -> list[list[str]]:
    return [shlex.split(line) for line in text.strip().splitlines()]


def refused(cli: CommandLine, *words: str) -> Result:
    """What is said of a line for which no request was sent that changes something."""
    cli.file("a.json", {"a": 1})
    cli.environment["CONTEXT_SEARCH_SECRET"] = SECRET
    given = [str(cli.folder / word) if word == "a.json" else word for word in words]
    result = cli(*given, "--json")
    assert (result.code, result.document["error"]["code"]) == (2, "USAGE"), result.err
    assert result.document["error"]["exit"] == 2
    assert result.document["error"]["detail"] in result.err
    assert {each.method for each in cli.network.requests} <= {"GET"}
    return result


@pytest.mark.parametrize("words", lines(UNREADABLE), ids=" ".join)
def test_a_line_that_is_no_command_is_one_json_document(cli: CommandLine, words: list[str]) -> None:
    reported = refused(cli, *words).document["error"]
    assert reported["advice"].startswith("what it takes: ")
    assert reported["advice"].endswith(" --help")
    plain = cli(*words)
    assert (plain.code, plain.out) == (2, "")
    assert plain.err.startswith(f"error: {reported['detail']}\n  {reported['advice']}")


def test_what_stands_behind_two_dashes_is_no_option(cli: CommandLine) -> None:
    reported = cli("tables", "show", "--", "--json")
    assert (reported.code, reported.out) == (2, "")


def test_a_control_character_of_a_line_has_no_power(cli: CommandLine) -> None:
    assert "\x1b" not in cli("tables", "\x1b[31mlist").err


def test_help_and_version_are_no_refusals(cli: CommandLine) -> None:
    assert cli.done("--version").out.startswith("context-search ")
    assert "Usage: " in cli.done("tables", "list", "--json", "--help").out
    alone = cli("tables")
    assert (alone.code, alone.err) == (2, "")
    assert "Usage: " in alone.out


def test_a_number_that_no_id_has_is_refused_here(cli: CommandLine) -> None:
    for words in lines(NUMBERS):
        assert f"{LARGE} is too large" in refused(cli, *words).err, words


def test_an_empty_text_is_not_taken_for_none(cli: CommandLine) -> None:
    for words in [*lines(EMPTY), ["search", " ", "--tool", "1"], ["retrieve", " ", "--tool", "1"]]:
        name = "question" if " " in words[1:2] else words[-2]
        assert f"'{name}': it is empty" in refused(cli, *words).err, words


@pytest.mark.parametrize("words", lines(OUTPUTS), ids=" ".join)
def test_a_file_that_cannot_be_written_is_told_before_a_key_is_made(
    cli: CommandLine, words: list[str]
) -> None:
    for path in (cli.folder, cli.folder / "none" / "file", Path()):
        assert " folder" in refused(cli, *words, str(path)).err


@pytest.mark.parametrize("words", lines(NO_TEXT), ids=range(5))
def test_bytes_that_are_no_text_are_not_sent(cli: CommandLine, words: list[str]) -> None:
    given = [word.replace("udcff", "\udcff") for word in words]
    assert "no text in UTF-8" in refused(cli, *given).err


@pytest.mark.parametrize("text", OBJECTS, ids=range(5))
def test_an_option_in_json_is_an_object(cli: CommandLine, text: str) -> None:
    for words in (["search", "x", "--tool", "1", "--filter"], ["tools", "create", "1", "--config"]):
        assert f"{words[-1]} is a JSON object" in refused(cli, *words, text).err


def started(folder: Path) -> tuple[list[str], dict[str, str]]:
    """The command line as a process of its own: its first words and its environment."""
    root = Path(__file__).parents[2]
    environment = {"PYTHONPATH": str(root / "cli"), "HOME": str(folder), "PATH": os.defpath}
    return [sys.executable, "-m", "context_search_cli"], environment


@pytest.mark.slow
def test_words_are_completed(tmp_path: Path) -> None:
    command, environment = started(tmp_path)
    asked = {
        "_CONTEXT_SEARCH_COMPLETE": "complete_bash",
        "COMP_WORDS": "context-search tab",
        "COMP_CWORD": "1",
    }
    reported = subprocess.run(  # noqa: S603 - our own command
        command, env=environment | asked, cwd=tmp_path, capture_output=True, check=True, text=True
    )
    assert reported.stdout.split() == ["tables"]


@pytest.mark.slow
def test_a_closed_stdin_is_an_empty_one(tmp_path: Path) -> None:
    command, environment = started(tmp_path)
    words = shlex.join([*command, "tables", "set", "1", "/a", "-", "--json"])
    reported = subprocess.run(  # noqa: S603 - our own command
        ["/bin/sh", "-c", f"exec {words} <&-"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        check=False,
        text=True,
    )
    assert reported.returncode == 2
    assert reported.stdout.startswith('{"error": {"detail": "standard input, line 1, column 1: ')


@pytest.mark.slow
def test_ctrl_c_at_a_question_ends_as_everywhere(tmp_path: Path) -> None:
    command, environment = started(tmp_path)
    words = [*HEEDS, f"--chdir={tmp_path}", *command, "login", "--url", "http://127.0.0.1:9"]
    code, _ = in_terminal(words, environment, until=re.compile(b"key: $"))
    assert code == 130
