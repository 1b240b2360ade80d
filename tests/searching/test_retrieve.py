"""Passages for a language model, out of a whole index in memory."""

from __future__ import annotations

import pytest

from context_search.core.callers import Caller, Internal, ProjectKey
from context_search.core.errors import NotFoundError, QueryEmptyError
from context_search.integrations.models.tiktoken_counter import TiktokenCounter
from context_search.ranking.search import QuestionLimits
from context_search.searching.retrieve import (
    Passage,
    Retrieval,
    Retrieve,
)
from context_search.searching.rules.retrieval import RetrievalSettings
from context_search.searching.rules.searched import SearchedTool
from context_search.text.redaction import placeholder
from tests.system import System, prose

COUNTER = TiktokenCounter()
FILLER = prose(2_000)
SENTENCE = "The lighthouse keeper counted nine comets. "
ALL = QuestionLimits(top_k=50, min_score=0.0, max_tokens=100_000)


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
        return self.retrieve(self.system.principal, query, asked)

    def retrieve(self, caller: Caller, query: str, limits: QuestionLimits) -> Retrieval:
        return self.passages(SearchedTool.by(caller, self.tool_id), query, limits)

    def everything(self, query: str = "the a of 1") -> Retrieval:
        return self.retrieve(self.system.principal, query, ALL)


def source_of(passage: Passage, source: str) -> str:
    """The passage's text with what was hidden put back."""
    text, at = "", 0
    for mark in passage.replacements:
        assert passage.text[mark.text_start : mark.text_end] == placeholder(mark.kind)
        text += passage.text[at : mark.text_start] + source[mark.char_start : mark.char_end]
        at = mark.text_end
    return text + passage.text[at:]


def test_the_best_passage_is_the_exact_place_of_its_text() -> None:
    text = FILLER[:900] + SENTENCE + FILLER[900:]
    found = Setup({"a": {"b": text}})("lighthouse comets")
    [best, *_] = found.passages
    assert SENTENCE.strip() in best.text
    assert best.text == text[best.char_start : best.char_end]
    assert best.tokens == COUNTER.count(best.text)
    assert found.used_tokens == sum(passage.tokens for passage in found.passages)
    assert (best.hits[0].json_path, found.tokenizer) == ("/a/b", "cl100k_base")


def test_what_is_not_relevant_is_not_retrieved() -> None:
    found = Setup({"a": FILLER})("zebra xylophone quinoa")
    assert (found.passages, found.used_tokens, found.dropped) == ((), 0, ())
    assert found.below_min_score == len(found.answer.hits) > 0
    assert found.hint == "low_scores_hidden"


def test_an_empty_index_gives_nothing() -> None:
    for document, hint in (
        ({"a": "short"}, "no_long_strings"),
        ({"a": " " * 500}, "nothing_indexed"),
    ):
        found = Setup(document)("lighthouse")
        assert (found.passages, found.used_tokens, found.below_min_score) == ((), 0, 0)
        assert found.hint == hint


def test_only_as_many_hits_as_asked_for_are_taken() -> None:
    setup = Setup({"a": [SENTENCE + FILLER[i * 60 :][:50] for i in range(9)]})
    assert len(setup("lighthouse comets", min_score=0.0).passages) == 5
    assert len(setup("lighthouse comets", min_score=0.0, top_k=2).passages) == 2
    assert setup("lighthouse comets", top_k=2).settings.top_k == 2


def test_the_budget_takes_the_best_and_stops() -> None:
    setup = Setup({"a": [SENTENCE + FILLER[i * 60 :][:50] for i in range(9)]})
    whole = setup("lighthouse comets", min_score=0.0)
    limit = whole.passages[0].tokens + whole.passages[1].tokens
    found = setup("lighthouse comets", min_score=0.0, max_tokens=limit)
    assert [p.text for p in found.passages] == [p.text for p in whole.passages[:2]]
    assert found.used_tokens == limit
    assert [drop.reason for drop in found.dropped] == ["over_budget"] + ["after_over_budget"] * 2
    assert [drop.id for drop in found.dropped] == [
        passage.hits[0].chunk.id for passage in whole.passages[2:]
    ]
    assert [drop.tokens for drop in found.dropped] == [
        passage.tokens for passage in whole.passages[2:]
    ]


def test_a_budget_of_one_token_gives_nothing_and_says_why() -> None:
    found = Setup({"a": SENTENCE * 2})("lighthouse comets", max_tokens=1)
    assert (found.passages, len(found.dropped)) == ((), 1)


def test_all_chunks_of_a_text_become_one_passage_again() -> None:
    found = Setup({"a": FILLER}).everything()
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


def test_what_is_sensitive_is_hidden_and_its_place_is_told() -> None:
    text = SENTENCE + "Call 13812345678 or write to keeper@house.example."
    found = Setup({"a": text})("lighthouse comets")
    [passage] = found.passages
    assert "138" not in passage.text
    assert "keeper@" not in passage.text
    assert [mark.kind for mark in passage.replacements] == ["phone", "email"]
    assert source_of(passage, text) == text[passage.char_start : passage.char_end]
    assert passage.tokens == COUNTER.count(passage.text)


def test_redaction_can_be_switched_off_and_cut_to_some_kinds() -> None:
    text = SENTENCE + "Call 13812345678 or write to keeper@house.example."
    assert "13812345678" in Setup({"a": text}, redaction=False)("lighthouse").passages[0].text
    emails = Setup({"a": text}, kinds=("email",))("lighthouse").passages[0].text
    assert "13812345678" in emails
    assert "keeper@" not in emails


def test_no_edge_of_a_chunk_shows_a_part_of_a_number() -> None:
    words = [word for word in FILLER.split() if not any(c.isdigit() for c in word)]
    text = " ".join(f"{word} 138-1234-5678" for word in words)
    setup = Setup({"a": text})
    cut = [
        chunk
        for chunk in setup.system.memory.rows.chunks.values()
        if chunk.text[0].isdigit() or chunk.text[-1].isdigit()
    ]
    assert len(cut) > 20
    for seed in range(0, len(words), 10):
        for passage in setup(" ".join(words[seed : seed + 10]), min_score=0.0).passages:
            assert not any(character.isdigit() for character in passage.text)
            assert source_of(passage, text) == text[passage.char_start : passage.char_end]


def test_a_stale_hit_is_retrieved_with_what_stands_around_it() -> None:
    text = FILLER[:300] + SENTENCE + FILLER[300:600]
    setup = Setup({"a": text}, neighbours=1)
    table_id = next(iter(setup.system.memory.rows.tables))
    setup.system.replace(setup.system.principal, table_id, {"a": FILLER})
    [best, *_] = setup("lighthouse comets").passages
    assert best.hits[0].chunk.stale
    assert best.text == text[best.char_start : best.char_end]


def test_only_the_project_of_the_tool_may_retrieve() -> None:
    setup = Setup({"a": SENTENCE})
    with pytest.raises(NotFoundError):
        setup.retrieve(ProjectKey(99), "lighthouse", QuestionLimits())
    assert setup.retrieve(Internal(), "lighthouse", QuestionLimits()).passages
    with pytest.raises(QueryEmptyError):
        setup("?!")
