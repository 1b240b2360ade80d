"""The scores that docs/api.md prints are those of the formula beside them."""

from __future__ import annotations

import json
import re

import pytest

from tests.architecture.project import ROOT

_PRINTED = re.compile(r'"score": ([0-9.]+), "relevance": [0-9.]+, "scoreBreakdown": (\{[^}]*\})')


def test_a_score_of_project_search_is_the_sum_of_its_printed_parts() -> None:
    page = (ROOT / "docs/api.md").read_text("utf-8")
    section = page.partition("## Searching a project")[2].partition("\n## ")[0]
    printed = [(float(score), json.loads(parts)) for score, parts in _PRINTED.findall(section)]
    assert printed
    for score, parts in printed:
        total = 0.55 * parts["bm25"] + 0.35 * parts["semantic"] + 0.10 * parts["recency"]
        assert score == pytest.approx(total, abs=1e-4)
    shown = {float(score) for score in re.findall(r'"score": ([0-9.]+)', section)}
    assert shown == {score for score, _ in printed}
