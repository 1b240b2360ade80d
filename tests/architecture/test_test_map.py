"""tests/README.md maps the folders that there are."""

from __future__ import annotations

import re

from tests.architecture.project import ROOT, python_files, relative

PAGE = (ROOT / "tests" / "README.md").read_text("utf-8")
RUN, WRITE = PAGE.split("## Which one do I write in?")


def test_every_folder_is_in_both_tables() -> None:
    folders = {relative(path).split("/")[1] for path in python_files("tests")}
    folders = {name for name in folders if not name.endswith(".py")}
    run = set(re.findall(r"`tests/(\w+)(?![\w.])", RUN)) | {"conformance"}  # by make conformance
    written = set(re.findall(r"`(\w+)/", WRITE))
    assert folders == run
    assert folders == written


def test_what_the_tables_name_exists() -> None:
    named = set(re.findall(r"`(tests/[\w/.]+)`", RUN))
    named |= {f"tests/{name}" for name in re.findall(r"`(\w+/[\w/.]*|\w+\.py)`", WRITE)}
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
