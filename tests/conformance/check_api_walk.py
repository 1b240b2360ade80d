"""Pages of docs/ are walked: their sh blocks run in order against ``make serve``, answers compared.

``--rewrite`` (``make docs``) writes the answers into the page instead: what was given, with the
same things left out. A block of json that holds nothing yet gets the whole answer.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.options import ROOT
from tests.builders import until
from tests.conformance.shown import Block, blocks, rewritten
from tests.e2e.running import state_folder, user_environment

pytestmark = [pytest.mark.stack, pytest.mark.timeout(400)]  # a page has up to 100 commands

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
_WITHIN_S = 300
# Page → how many of its blocks show answers, at least.
PAGES = {ROOT / "docs/api.md": 20, ROOT / "docs/editing.md": 15, ROOT / "docs/cli.md": 10}


def shown_blocks(page: Path) -> list[Block]:
    """What a whole page tells to run, and shows of it."""
    return blocks(page.read_text("utf-8"))


@pytest.fixture
def place() -> Iterator[tuple[Path, str]]:
    """A folder with the ``.local`` of a stack that nobody has used before, and the stack's URL."""
    with state_folder() as state:
        folder = state.root.parent
        command = [sys.executable, "-m", "local.serve", "--port", "0", "--state", str(state.root)]
        (folder / ".local").symlink_to(state.root)
        with (folder / "serve.log").open("w") as log:
            serve = subprocess.Popen(  # noqa: S603 - our own fixed command
                command, cwd=ROOT, env=user_environment(), stdout=log, stderr=log
            )
        try:
            log_file = folder / "serve.log"
            until(lambda: "Ctrl-C stops it" in log_file.read_text() or None, 120, every_s=0.2)
            yield folder, json.loads(state.endpoints.read_text())["base_url"]
        finally:
            serve.terminate()
            serve.wait(60)


def walked(page: Path, folder: Path, url: str) -> list[str]:
    """What each block has printed. Fails where a command fails, telling which."""
    program = ["set -eu", _CURL]
    for block in shown_blocks(page):
        program += [block.commands.replace(_BASE, url), f"echo; echo {_END}"]
    script = folder / "walk.sh"
    script.write_text("\n".join(program), "utf-8")
    shell = shutil.which("sh") or "/bin/sh"
    environment = {**user_environment(), "NO_PROXY": "127.0.0.1", "LC_ALL": "C.UTF-8"}
    programs = [Path(sys.executable).parent, ROOT / "scripts", environment["PATH"]]
    environment["PATH"] = os.pathsep.join(map(str, programs))
    environment["HOME"] = str(folder)  # where the command line keeps what login was given
    done = subprocess.run(  # noqa: S603 - our own page
        [shell, str(script)],
        cwd=folder,
        env=environment,
        check=False,
        capture_output=True,
        timeout=_WITHIN_S,
    )
    # As a reader's stack says it, who is in the folder where .local is.
    printed = done.stdout.decode().replace(url, _BASE).replace(f"{folder}/", "")
    given = printed.split(_END)
    assert done.returncode == 0, f"block {len(given)}: {given[-1]} {done.stderr.decode()}"
    return given[:-1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_give_the_answers_of_the_page(
    page: Path, place: tuple[Path, str], request: pytest.FixtureRequest
) -> None:
    folder, url = place
    given = walked(page, folder, url)
    if request.config.getoption("--rewrite"):
        page.write_text(rewritten(page.read_text("utf-8"), given), "utf-8")
    lies: list[str] = []
    compared = 0
    for block, printed in zip(shown_blocks(page), given, strict=True):
        lies += [f"{block.commands.splitlines()[0]}\n  {lie}" for lie in block.differences(printed)]
        compared += bool(block.shown)
    assert not lies, "\n".join(lies)
    assert compared >= PAGES[page]
