"""Passages for a language model, out of a whole index in memory."""

from __future__ import annotations

import json

import pytest

from context_search.integrations.models.tiktoken_counter import TiktokenCounter
from context_search.ranking.search import QuestionLimits
from context_search.searching.retrieve import (
    Retrieval,
    Retrieve,
)
from context_search.searching.rules.retrieval import RetrievalSettings
from context_search.searching.rules.searched import SearchedTool
from context_search.text.sensitive.kinds import SENSITIVE_KINDS
from tests.system import System, prose

COUNTER = TiktokenCounter()
FILLER = prose(2_000)
SENTENCE = "The lighthouse keeper counted nine comets. "


class Setup:
    """A tool over one document, indexed, and retrieval from it."""

    def __init__(self, document: object, **settings: object) -> None:
        self.system = System()
        self.tool_id = self.system.tool(self.system.table(document)).tool.id
        self.system.work()
        self.passages = Retrieve(self.system.store, self.system.searches, COUNTER).passages
        with self.system.store.for_all("test") as work:
            work.projects.write_settings(
                self.system.principal.project_id,
                RetrievalSettings(**{"neighbours": 0, **settings}),  # type: ignore[arg-type]
            )

    def __call__(self, query: str, **limits: float) -> Retrieval:
        asked = QuestionLimits(**limits)  # type: ignore[arg-type]
        return self.passages(SearchedTool.by(self.system.principal, self.tool_id), query, asked)


def test_the_budget_takes_the_best_and_stops() -> None:
    setup = Setup({"a": [SENTENCE + FILLER[i * 60 :][:50] for i in range(9)]})
    whole = setup("lighthouse comets", min_score=0.0)
    limit = whole.passages[0].tokens + whole.passages[1].tokens
    found = setup("lighthouse comets", min_score=0.0, max_tokens=limit)
    assert [p.text for p in found.passages] == [p.text for p in whole.passages[:2]]
    assert found.used_tokens == limit
    assert [drop.reason for drop in found.dropped] == ["over_budget"] + ["after_over_budget"] * 2
    left = [(passage.hits[0].chunk.id, passage.tokens) for passage in whole.passages[2:]]
    assert [(drop.id, drop.tokens) for drop in found.dropped] == left


def test_all_chunks_of_a_text_become_one_passage_again() -> None:
    found = Setup({"a": FILLER})("the a of 1", top_k=50, min_score=0.0, max_tokens=100_000)
    [passage] = found.passages
    assert (passage.char_start, passage.char_end, passage.text) == (0, len(FILLER), FILLER)
    assert len(passage.hits) > 10
    assert found.used_tokens == COUNTER.count(FILLER)


def test_chunks_beside_a_hit_join_it_when_there_is_room() -> None:
    text = FILLER[:900] + SENTENCE + FILLER[900:]
    alone = Setup({"a": text})("lighthouse comets", top_k=1).passages[0]
    setup = Setup({"a": text}, neighbours=1)
    wide = setup("lighthouse comets", top_k=1).passages[0]
    assert wide.char_start < alone.char_start < alone.char_end < wide.char_end
    assert wide.text == text[wide.char_start : wide.char_end]
    assert [hit.chunk.id for hit in wide.hits] == [wide.hits[0].chunk.id]
    tight = setup("lighthouse comets", top_k=1, max_tokens=alone.tokens).passages[0]
    assert (tight.text, tight.tokens) == (alone.text, alone.tokens)


def test_a_stale_hit_is_retrieved_with_what_stands_around_it() -> None:
    text = FILLER[:300] + SENTENCE + FILLER[300:600]
    setup = Setup({"a": text}, neighbours=1)
    table_id = next(iter(setup.system.model_store.rows.tables))
    setup.system.replace(setup.system.principal, table_id, {"a": FILLER})
    [best, *_] = setup("lighthouse comets").passages
    assert best.hits[0].chunk.stale
    assert best.text == text[best.char_start : best.char_end]


@pytest.mark.parametrize(
    "settings",
    [
        RetrievalSettings(),
        RetrievalSettings(kinds=()),
        RetrievalSettings(9, 0.25, 77, 3, redaction=False, kinds=("email", "iban")),
        RetrievalSettings(kinds=("key", "email", "phone")),
    ],
)
def test_settings_are_read_as_they_were_written(settings: RetrievalSettings) -> None:
    assert RetrievalSettings.from_mapping(json.loads(settings.to_json())) == settings


def test_a_project_that_chose_no_kinds_hides_those_that_are_new() -> None:
    assert RetrievalSettings.from_mapping({"top_k": 7, "later": 1}).kinds == SENSITIVE_KINDS
    assert "kinds" not in json.loads(RetrievalSettings(top_k=7).to_json())
