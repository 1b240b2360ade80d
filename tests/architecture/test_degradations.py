"""Each reason of ``degraded`` is produced, proved, documented and shown: the places are named."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from context_search.ranking.search import Degradation, Hint
from tests.architecture.project import ROOT, python_files

REASONS = get_args(Degradation)
CODES = {*REASONS, *get_args(Hint)}
CONSOLE = ROOT / "console/src/i18n/common.ts"


def documented() -> set[str]:
    """The reasons with a row in docs/api.md."""
    page = (ROOT / "docs/api.md").read_text("utf-8")
    table = page.split("| `degraded` | what happened instead |\n")[1].split("\n\n")[0]
    cells = " ".join(row.split(" | ")[0] for row in table.splitlines())
    return {*re.findall(r"`(\w+)`", cells)}


def shown() -> list[set[str]]:
    """The codes that the console has a sentence for, by language."""
    text = CONSOLE.read_text("utf-8").split("export const codes = dictionary(")[1]
    english, chinese = re.findall(r"(?ms)^  \{\n(.*?)^  \}", text.split("\n);\n")[0])
    return [{*re.findall(r"(?m)^    (\w+):", each)} for each in (english, chinese)]


def quoted_in(*folders: str) -> set[str]:
    """The reasons that modules of these folders have as a string."""
    text = "".join(
        path.read_text("utf-8") for path in python_files(*folders) if "routes" not in path.parts
    )
    return {reason for reason in REASONS if f'"{reason}"' in text}


PLACES = {
    "shared/context_search/searching: what finds it": quoted_in("shared/context_search/searching"),
    "tests/searching or tests/web: what proves it": quoted_in("tests/searching", "tests/web"),
    "docs/api.md: a row of the table": documented(),
    "console/src/i18n/common.ts: codes in English": shown()[0],
    "console/src/i18n/common.ts: codes in Chinese": shown()[1],
}


@pytest.mark.parametrize("reason", REASONS)
def test_a_reason_of_degradation_is_in_every_place(reason: str) -> None:
    missing = [place for place, found in PLACES.items() if reason not in found]
    assert not missing, "\n".join(missing)


def test_no_place_has_a_reason_that_there_is_not() -> None:
    assert documented() == {*REASONS}
    assert shown() == [CODES, CODES]
