"""The command of docs/quality.md, run as it is written, on the tools of a running deployment."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.compare import read_judged
from local.options import ROOT
from tests.e2e.library import PLACES, QUESTIONS, library
from tests.e2e.running import Running, Tenant, user_environment

pytestmark = pytest.mark.stack
_BLOCK = re.compile(r"^cat (\S+)\n(\{.*?\})\npython (-m evaluation compare .*?)\n```", re.M | re.S)


@pytest.fixture(scope="module")
def page() -> tuple[str, str, list[str]]:
    """The file, its line and the arguments of the command that the page shows."""
    found = _BLOCK.search((ROOT / "docs/quality.md").read_text("utf-8"))
    assert found is not None
    return found[1], found[2], shlex.split(found[3].replace("\\\n", " "))


def test_the_line_of_the_page_is_read(page: tuple[str, str, list[str]], tmp_path: Path) -> None:
    (tmp_path / page[0]).write_text(page[1])
    assert len(read_judged(tmp_path / page[0])) == 1


def test_the_command_of_the_page_tells_worse_from_not_worse(
    stack: Running, tenant: Tenant, page: tuple[str, str, list[str]], tmp_path: Path
) -> None:
    name, _, arguments = page
    table_id = tenant.table(library())
    base = tenant.tool(table_id)
    keywords = tenant.tool(table_id, name="keywords", search_config={"strategy": "keyword"})
    elsewhere = tenant.tool(table_id, name="elsewhere", json_path="/books2")
    for tool in (base, keywords, elsewhere):
        tenant.ready(tool)
    judged = [
        {
            "query": QUESTIONS[sentence],
            "relevant": [
                {"json_pointer": pointer, "char_start": at, "char_end": at + len(sentence)}
            ],
        }
        for sentence, (pointer, at) in PLACES.items()
    ]
    (tmp_path / name).write_text("\n".join(map(json.dumps, judged)))
    (tmp_path / "project.key").write_text(tenant.key)

    def compared(candidate: object) -> tuple[int, str]:
        values = {"--url": stack.base_url, "--base": base["tool_id"], "--candidate": candidate}
        command = list(arguments)
        for option, value in values.items():
            command[command.index(option) + 1] = str(value)
        done = subprocess.run(  # noqa: S603 - our own page
            [sys.executable, *command],
            cwd=tmp_path,
            env={**user_environment(), "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'shared'}"},
            check=False,
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    code, said = compared(base["tool_id"])
    assert (code, said.splitlines()[0]) == (0, "4 questions")
    assert compared(keywords["tool_id"])[0] == 0
    code, said = compared(elsewhere["tool_id"])
    assert (code, said.splitlines()[-1]) == (1, "candidate is worse in ndcg@10")
    assert compared(10**9)[0] == 2
