"""Equal configurations share an index, so equal must mean equal after every way they travel."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from decimal import Decimal

import pytest

from context_search.core.config import IndexConfig, Rerank, SearchConfig
from context_search.core.filters import Condition
from context_search.text.chunking import chunk_spans, window_texts
from tests.builders import chinese, english

CONFIG = IndexConfig(model="local/m", dimensions=512)


def test_a_configuration_survives_its_json_text() -> None:
    assert IndexConfig.from_json(CONFIG.to_json()) == CONFIG


def test_the_hash_does_not_depend_on_how_a_database_writes_the_json() -> None:
    rewritten = json.dumps(dict(reversed(json.loads(CONFIG.to_json()).items())), indent=2)
    assert IndexConfig.from_json(rewritten).config_hash == CONFIG.config_hash
    assert CONFIG.to_json() == json.dumps(asdict(CONFIG), sort_keys=True, separators=(",", ":"))


@pytest.mark.parametrize(
    "change",
    [
        *({"model": "local/n"}, {"dimensions": 511}, {"storage": "lean"}, {"threshold": 9_999}),
        *({"chunk_size": 999}, {"chunk_overlap": 99}, {"window_tokens": 1}),
        *({"chunker_version": 99}, {"analysis_version": 99}, {"precision": "f16"}),
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_changes_chunks_or_vectors_changes_the_hash(change: dict[str, object]) -> None:
    assert replace(CONFIG, **change).config_hash != CONFIG.config_hash  # type: ignore[arg-type]
    assert len(CONFIG.config_hash) == 64


def test_the_test_above_names_every_field() -> None:
    assert len(asdict(CONFIG)) == 10


def test_a_stored_search_configuration_keeps_its_values_and_fills_the_rest() -> None:
    stored = json.loads(SearchConfig(top_k=7, strategy="keyword", fusion="rrf").to_json())
    assert SearchConfig.from_stored(stored) == SearchConfig(
        top_k=7, strategy="keyword", fusion="rrf"
    )
    assert SearchConfig.from_stored({}) == SearchConfig()
    assert SearchConfig.from_stored({"vector_weight": 1.0}).bm25_weight == 0.8
    assert SearchConfig.from_stored({"bm25_weight": 1.0}).vector_weight == 0.2


@pytest.mark.parametrize("stored", [None, [], "x", 3, {"of another program": {"top_k": 9}}])
def test_what_is_no_search_configuration_of_ours_is_the_default(stored: object) -> None:
    assert SearchConfig.from_stored(stored) == SearchConfig()


@pytest.mark.parametrize(
    "wrong",
    [
        *({"top_k": 0}, {"top_k": 21}, {"top_k": "5"}, {"top_k": True}, {"strategy": "other"}),
        *({"strategy": ["hybrid"]}, {"fusion": {}}, {"vector_weight": 2}, {"bm25_weight": "0.3"}),
        *({"include_metadata": 1}, {"agents_may_filter": 1}, {"agents_may_filter": "true"}),
        *({"max_chunk_preview": -1}, {"chunk_size": 100}),
    ],
)
def test_a_value_that_no_field_may_have_keeps_its_default(wrong: dict[str, object]) -> None:
    assert SearchConfig.from_stored({**wrong, "recency_weight": 1}) == SearchConfig(
        recency_weight=1
    )


def test_all_of_a_search_configuration_is_stored_and_read() -> None:
    whole = SearchConfig(
        top_k=7,
        fusion="linear",
        vector_weight=0.25,
        bm25_weight=0.5,
        recency_weight=0.125,
        rerank=Rerank("cohere/rerank-v3.5", 7, 0.25),
        filterable=("year",),
        where=Condition("price", "lt", Decimal("0.10")),
        agents_may_filter=True,
    )
    for config in (whole, replace(whole, vector_weight=None, bm25_weight=None)):
        stored = json.loads(config.to_json(), parse_float=Decimal)  # as the store reads it
        assert SearchConfig.from_stored(stored) == config


def test_a_second_opinion_is_stored_and_read() -> None:
    asking = SearchConfig(top_k=7, rerank=Rerank("cohere/rerank-v3.5", 7, 0.25))
    assert SearchConfig.from_stored(json.loads(asking.to_json())) == asking
    alone = SearchConfig.from_stored({"rerank": {"model": "x"}})
    assert alone.rerank == Rerank("x", 20, 0.5)


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        (None, None),
        ("cohere/rerank-v3.5", None),
        ({}, None),
        ({"candidates": 7}, None),
        ({"model": ""}, None),
        ({"model": 7}, None),
        ({"model": "x" * 201}, None),
        ({"model": "x", "candidates": 0}, Rerank("x")),
        ({"model": "x", "candidates": 51, "blend": 0.25}, Rerank("x", blend=0.25)),
        ({"model": "x", "candidates": True, "blend": True}, Rerank("x")),
        ({"model": "x", "candidates": 7.0, "blend": "1"}, Rerank("x")),
        ({"model": "x", "blend": float("nan")}, Rerank("x")),
        ({"model": "x", "of another release": 1}, Rerank("x")),
    ],
)
def test_what_is_no_second_opinion_of_ours_is_none_or_its_default(
    stored: object, read: Rerank | None
) -> None:
    assert SearchConfig.from_stored({"rerank": stored, "top_k": 7}) == SearchConfig(
        top_k=7, rerank=read
    )


def test_an_older_word_for_the_strategy_is_known() -> None:
    assert SearchConfig.from_stored({"enable_hybrid": False}).strategy == "semantic"
    assert SearchConfig.from_stored({"enable_hybrid": True}).strategy == "hybrid"
    both = {"enable_hybrid": False, "strategy": "keyword"}
    assert SearchConfig.from_stored(both).strategy == "keyword"


@pytest.mark.parametrize("text", [chinese(60_000, 1), english(60_000, 2)], ids=["zh", "en"])
@pytest.mark.parametrize(("size", "tokens"), [(1_000, 250), (1_000, 0), (4_000, 100), (300, 400)])
def test_no_chunk_has_more_windows_than_are_reckoned_with(
    text: str, size: int, tokens: int
) -> None:
    config = IndexConfig("m", 3, chunk_size=size, window_tokens=tokens)
    chunks = [text[span.start : span.end] for span in chunk_spans(text, size=size)]
    counts = {len(window_texts(chunk, tokens)) for chunk in chunks}
    assert max(counts) <= config.most_windows


def test_agents_filter_by_the_filterable_fields_of_a_tool_that_opts_in() -> None:
    assert SearchConfig(filterable=("a",)).agents_fields == ()
    assert SearchConfig(filterable=("a",), agents_may_filter=True).agents_fields == ("a",)
    assert SearchConfig(agents_may_filter=True).agents_fields == ()
    assert SearchConfig.from_stored({"agents_may_filter": True}).agents_may_filter is True


def test_what_is_shown_of_fields_are_filterable_ones_of_strings_that_are_not_hidden() -> None:
    config = SearchConfig(filterable=("a", "b"), where=Condition("c", "eq", 1))
    assert config.shown_fields({"a": "x", "c": 1}) == {"a": "x"}
    assert config.shown_fields({"a": "x", "c": 2}) is None
    assert config.shown_fields({"a": "x"}) is None
    assert replace(config, where=None).shown_fields({"d": 1}) == {}
