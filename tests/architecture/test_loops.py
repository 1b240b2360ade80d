"""What docs/api.md prints to wait with ends, whatever happens."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.architecture.project import ROOT

_BLOCKS = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LOOPS = re.compile(r"^(?:for|until|while) .*?\bdone\b$", re.MULTILINE | re.DOTALL)
LOOPS = [
    loop
    for block in _BLOCKS.findall((ROOT / "docs" / "api.md").read_text("utf-8"))
    for loop in _LOOPS.findall(block)
]
_PROGRAM = """
curl() {{ echo asked >&2; echo '{answer}'; }}
sleep() {{ :; }}
BASE= KEY=
{loop}
"""


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(
    ("status", "asked"),
    [("done", 1), ("failed", 1), ("ready", 1), ("degraded", 1), ("importing", 120)],
)
def test_a_loop_ends(loop: str, status: str, asked: int) -> None:
    is_end = asked == 1 and f'"{status}"' in loop
    answer = f'{{"status": "{status}"}}'
    done = subprocess.run(  # noqa: S603 - our own page
        ["/bin/sh", "-c", _PROGRAM.format(answer=answer, loop=loop)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert len(done.stderr.splitlines()) == (1 if is_end else 120)
    assert done.stdout == (f"{answer}\n" if is_end else "")


def test_there_are_loops() -> None:
    assert len(LOOPS) == 2
    assert all("curl" in loop for loop in LOOPS)
