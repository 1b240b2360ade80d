"""docs/api.md is walked: its sh blocks run in order against ``make serve``, answers compared."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local.options import ROOT
from local.processes import free_port
from tests.builders import until
from tests.e2e.running import state_folder, user_environment

_BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:```json\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
# What needs something that is made in the background is asked again; every other problem is the
# end of the walk.
_CURL = """curl() {
  for _ in $(seq 30); do
    answer=$(command curl --silent --show-error --fail-with-body "$@") && break
    answer="failed: $answer"; sleep 1
  done
  printf '%s\\n' "$answer"; case $answer in failed:*) return 1;; esac
}"""
_END = "--end-of-block--"
_BASE = "http://127.0.0.1:8787"
Block = tuple[str, str]


def blocks() -> list[Block]:
    """(commands, the answers shown below them or "") of the whole page."""
    return _BLOCK.findall((ROOT / "docs/api.md").read_text("utf-8"))


def values(text: str) -> list[Any]:
    """The JSON values that stand one after the other in a text."""
    decoder, found, text = json.JSONDecoder(), [], text.strip()
    while text:
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:].lstrip()
    return found


def check_shape(shown: Any, given: Any, where: str) -> None:
    """Every field shown is given, with a value of the same kind; nothing is told of the rest."""
    if isinstance(shown, dict) and isinstance(given, dict):
        assert set(shown) <= set(given), f"{where}: {set(shown) - set(given)} are not given"
        for name, value in shown.items():
            check_shape(value, given[name], f"{where}/{name}")
    elif isinstance(shown, list) and isinstance(given, list):
        for one, other in zip(shown, given, strict=False):
            if one != "…":
                check_shape(one, other, f"{where}/…")
    elif None not in (shown, given):
        numbers = isinstance(shown, int | float) and isinstance(given, int | float)
        assert numbers or type(shown) is type(given), f"{where}: {shown!r} shown, {given!r} given"


@pytest.fixture
def place() -> Iterator[tuple[Path, str]]:
    """A folder with the ``.local`` of a stack that nobody has used before, and the stack's URL."""
    with state_folder() as state:
        folder = state.root.parent
        url = f"http://127.0.0.1:{free_port()}"
        command = [sys.executable, "-m", "local.serve", "--port", url.rpartition(":")[2]]
        command += ["--state", str(state.root)]
        (folder / ".local").symlink_to(state.root)
        with (folder / "serve.log").open("w") as log:
            serve = subprocess.Popen(  # noqa: S603 - our own fixed command
                command, cwd=ROOT, env=user_environment(), stdout=log, stderr=log
            )
        try:
            log_file = folder / "serve.log"
            until(lambda: "Ctrl-C stops it" in log_file.read_text() or None, 120, every_s=0.2)
            yield folder, url
        finally:
            serve.terminate()
            serve.wait(60)


def test_the_commands_of_the_page_give_the_answers_of_the_page(place: tuple[Path, str]) -> None:
    folder, url = place
    program = ["set -eu", _CURL]
    for commands, _ in blocks():
        program += [commands.replace(_BASE, url), f"echo; echo {_END}"]
    script = folder / "walk.sh"
    script.write_text("\n".join(program), "utf-8")
    shell = shutil.which("sh") or "/bin/sh"
    environment = {**user_environment(), "NO_PROXY": "127.0.0.1", "LC_ALL": "C.UTF-8"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(  # noqa: S603 - our own page
        [shell, str(script)], cwd=folder, env=environment, check=False, capture_output=True
    )
    given = done.stdout.decode().split(_END)
    assert done.returncode == 0, f"block {len(given)}: {given[-1]} {done.stderr.decode()}"
    compared = 0
    for (commands, shown), answers in zip(blocks(), given, strict=False):
        if shown:
            for one, other in zip(values(shown), values(answers), strict=True):
                check_shape(one, other, commands)
                compared += 1
    assert compared >= 15
