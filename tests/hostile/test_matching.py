"""Strings that break programs, as what is looked for, as what it becomes and as where it stands."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
import regex

from context_search.text.graphemes import LONGEST_CLUSTER
from context_search_editing.rules.edits import apply_edits, shown_edits
from context_search_editing.rules.replacing import Allowance, LiteralReplacer, ReplaceRequest
from tests.editing.brute_force import brute_force

LIST = json.loads(Path(__file__).with_name("naughty_strings.json").read_text())
NAUGHTY: list[str] = [text for text in LIST["strings"] if text]
CODED = [
    json.dumps({"a": [1, "two"], "b": "废弃仓库"}),
    base64.b64encode("废弃仓库".encode()).decode(),
    's:12:"废弃仓库";a:1:{i:0;s:3:"two";}',
    " ",
    "$",
    "\\",
    "$&",
    "${0}",
    "%s",
    "\u2028",
    "\ufeff",
    "🇩🇪" * 50,
]
ALL = [*NAUGHTY, *CODED]


def has_long_cluster(text: str) -> bool:
    """Brute force takes a cluster of any length for one."""
    return any(len(cluster) > LONGEST_CLUSTER for cluster in regex.findall(r"\X", text))


@pytest.mark.parametrize("case_sensitive", [True, False], ids=["exact", "any case"])
@pytest.mark.parametrize("whole_word", [True, False], ids=["words", "anywhere"])
def test_a_naughty_string_is_a_literal_like_any_other(
    *, case_sensitive: bool, whole_word: bool
) -> None:
    for naughty in ALL:
        text = f"a{naughty}b {naughty}. {naughty.swapcase()}{naughty}"
        request = ReplaceRequest(
            naughty, "[$1\\1]", case_sensitive=case_sensitive, whole_word=whole_word
        )
        edits = LiteralReplacer(request).edits_of(text, Allowance())
        if not has_long_cluster(text):
            assert edits == brute_force(text, request), ascii(naughty)
        after = apply_edits(text, edits.edits)
        assert after.count("[$1\\1]") == len(edits.edits) + text.count("[$1\\1]")


def test_a_naughty_string_takes_the_place_of_a_word() -> None:
    for naughty in ALL:
        text = f"{naughty} needle, {naughty}needle\r\nneedle"
        edits = LiteralReplacer(ReplaceRequest("needle", naughty)).edits_of(text, Allowance())
        assert len(edits.edits) + edits.left_out.inside_character == text.count("needle")
        expected = text
        for edit in reversed(edits.edits):
            expected = expected[: edit.start] + naughty + expected[edit.end :]
        assert apply_edits(text, edits.edits) == expected
        for shown in shown_edits(text, edits.edits):
            assert shown.found == "needle"
            assert naughty.startswith(shown.becomes)
            assert shown.before in text
