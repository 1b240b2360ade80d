"""docs/cli.md and the README say what the commands are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from context_search import __version__ as of_the_server
from context_search_cli import __version__ as of_the_command_line
from context_search_cli.main import app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cli.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")


def commands(group: Any, above: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Every command by its words."""
    found: dict[tuple[str, ...], Any] = {}
    for name, command in group.commands.items():
        inside = getattr(command, "commands", None)
        words = (*above, name)
        found |= commands(command, words) if inside else {words: command}
    return found


COMMANDS = commands(typer.main.get_command(app))
EXAMPLES = [
    line
    for page in (PAGE, README)
    for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    for line in re.findall(r"context-search ([a-z][^\n)]*)", block)
]


def named(text: str) -> set[tuple[str, ...]]:
    """The commands that a text has in backticks, with the alternatives ``a|b|c``."""
    found: set[tuple[str, ...]] = set()
    for quoted in re.findall(r"^\| `([a-z][a-z -]*)`", text, re.MULTILINE):
        found.add(tuple(quoted.split()))
    return found


def test_the_page_has_every_command_and_no_other() -> None:
    assert named(PAGE) == set(COMMANDS)


@pytest.mark.parametrize("line", EXAMPLES)
def test_every_example_is_a_command_with_its_options(line: str) -> None:
    words = shlex.split(line, comments=True)
    found = [known for known in COMMANDS if tuple(words[: len(known)]) == known]
    assert found, line
    options = {
        name for each in COMMANDS[found[0]].params for name in [*each.opts, *each.secondary_opts]
    }
    assert {word for word in words if re.match(r"--?[a-z]", word)} <= options


def test_every_command_takes_the_shared_options_and_says_what_it_does() -> None:
    for words, command in COMMANDS.items():
        options = {name for each in command.params for name in each.opts}
        assert {"--json", "--quiet", "--profile"} <= options, words
        assert command.help, words


def test_no_option_takes_a_secret() -> None:
    options = (p for each in COMMANDS.values() for p in each.params)
    names = {name for each in options for name in each.opts if name.startswith("--")}
    assert {name for name in names if re.search(r"(key|secret|token|password)$", name)} == {
        "--agent-key",  # a file
        "--show-key",  # a switch
        "--key",  # of tables outline: part of a member's name
    }


def test_both_are_of_one_release() -> None:
    assert of_the_command_line == of_the_server
