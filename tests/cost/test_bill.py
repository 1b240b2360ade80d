"""The bill: its lines, its levers, and what is read from a command line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_search.services.indexing.indexer import IndexLimits
from context_search.services.upkeep.cleanup import ROUNDS_PER_STEP, CleanupLimits
from context_search.services.upkeep.sweep import PAGE as SWEEP_PAGE
from context_search.web.metrics import METRICS
from scripts.cost import usage
from scripts.cost.bill import bill, first_bill, turbopuffer
from scripts.cost.load import AFTER, BEFORE, USERS, WHOLE_STRINGS, Load, read
from scripts.cost.page import PAGE, written
from scripts.cost.usage import first_load, month

LARGE = USERS["large en"]


def test_the_page_shows_what_the_model_says() -> None:
    text = PAGE.read_text("utf-8")
    assert text == written(text), "make docs"


def test_bounds_of_the_model_are_those_of_the_code() -> None:
    assert IndexLimits().batch_chunks == usage.BATCH_CHUNKS
    assert usage.SWEEP_PAGE == SWEEP_PAGE
    assert usage.SWEEP_PAGES == ROUNDS_PER_STEP
    assert CleanupLimits().silent_s == usage.SWEEP_S
    assert sum(map(len, METRICS.values())) == AFTER.metrics


@pytest.mark.parametrize("name", list(USERS))
def test_this_release_costs_every_user_less(name: str) -> None:
    before, after = bill(USERS[name], BEFORE), bill(USERS[name], AFTER)
    assert after["total"] < before["total"]
    assert sum(after.values()) == pytest.approx(2 * after["total"])


def test_turbopuffer_costs_its_minimum_or_what_is_used() -> None:
    assert sum(turbopuffer(USERS["small en"], AFTER).values()) < 16
    assert bill(USERS["small en"], AFTER)["turbopuffer"] == 16
    assert bill(LARGE, AFTER)["turbopuffer"] == sum(turbopuffer(LARGE, AFTER).values()) > 16


def test_an_edit_that_writes_its_chunks_only_is_the_difference_of_releases() -> None:
    whole, chunks = month(LARGE, WHOLE_STRINGS), month(LARGE, AFTER)
    assert chunks.written_bytes < whole.written_bytes / 10
    assert (chunks.rows, chunks.tokens) == (whole.rows, whole.tokens)


def test_fewer_dimensions_save_everywhere_and_f16_in_storage_only() -> None:
    short, half = replace(LARGE, dimensions=512), replace(LARGE, half=True)
    full, cheap = turbopuffer(LARGE, AFTER), turbopuffer(half, AFTER)
    assert first_bill(short) < first_bill(LARGE) == first_bill(half)
    assert cheap["storage"] < full["storage"]
    assert cheap["writes"] == full["writes"]
    assert first_load(half).written_bytes == first_load(LARGE).written_bytes


def test_queries_of_a_very_large_namespace_are_discounted() -> None:
    one = replace(LARGE, namespaces=1)
    billed = month(one, AFTER).queried_bytes / 1e15
    assert 0 < turbopuffer(one, AFTER)["queries"] < billed


def test_a_load_is_a_user_with_other_figures() -> None:
    found = read("small zh, questions_a_day=50, half=true, postgres=db.t4g.medium")
    small = USERS["small zh"]
    assert found == replace(small, questions_a_day=50, half=True, postgres="db.t4g.medium")
    assert isinstance(found, Load)


@pytest.mark.parametrize(
    "text", ["", "tiny en", "small en, pages=3", "small en, strings", "small en, strings=x"]
)
def test_what_is_no_load_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"none of|no name=value|could not convert"):
        read(text)
