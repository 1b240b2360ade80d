"""SECURITY.md promises only what a test holds."""

from __future__ import annotations

import re

from tests.architecture.project import ROOT, python_files

ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in (ROOT / "SECURITY.md").read_text().splitlines()
    if line.startswith("| ")
][1:]


def test_every_threat_has_a_control_and_a_test() -> None:
    assert len(ROWS) > 15
    assert [row for row in ROWS if len(row) != 3 or "`test_" not in row[2]] == []


def test_every_test_that_is_named_exists() -> None:
    named = {name for row in ROWS for name in re.findall(r"`(test_\w+)`", row[2])}
    written = {
        name
        for path in python_files("tests")
        for name in re.findall(r"^def (test_\w+)\(", path.read_text(), flags=re.MULTILINE)
    }
    assert named - written == set()
