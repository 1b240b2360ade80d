"""A state of a noun is written in one module: there one reads what may follow what."""

from __future__ import annotations

import pytest

from scripts.shape.modules import read_modules
from scripts.shape.states import GENERATION, NODE, PLAN, Noun, writers
from tests.architecture.project import ROOT

HOMES = {
    GENERATION: "context_search.indexing.sql.generations",
    NODE: "context_search.indexing.sql.nodes",
    PLAN: "context_search_editing.rules.plans",
}


@pytest.mark.parametrize("noun", HOMES, ids=lambda noun: noun.table)
def test_a_state_is_written_in_one_module(noun: Noun) -> None:
    assert writers(noun, read_modules(ROOT), ROOT) == {HOMES[noun]}
