"""Equal configurations share an index, so equal must mean equal after every way they travel."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from context_search.domain.config import IndexConfig, SearchConfig

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
        {"model": "local/n"},
        {"dimensions": 511},
        {"storage": "lean"},
        {"threshold": 9_999},
        {"chunk_size": 999},
        {"chunk_overlap": 99},
        {"window_tokens": 1},
        {"chunker_version": 99},
        {"analysis_version": 99},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_changes_chunks_or_vectors_changes_the_hash(change: dict[str, object]) -> None:
    assert replace(CONFIG, **change).config_hash != CONFIG.config_hash  # type: ignore[arg-type]
    assert len(CONFIG.config_hash) == 64


def test_the_test_above_names_every_field() -> None:
    assert len(asdict(CONFIG)) == 9


def test_a_stored_search_configuration_keeps_its_values_and_fills_the_rest() -> None:
    stored = json.loads(SearchConfig(top_k=7, strategy="keyword", fusion="rrf").to_json())
    assert SearchConfig.from_mapping(stored) == SearchConfig(
        top_k=7, strategy="keyword", fusion="rrf"
    )
    assert SearchConfig.from_mapping({}) == SearchConfig()
    assert SearchConfig.from_mapping({"vector_weight": 1.0}).bm25_weight == 0.8
