"""The bill: its lines, its levers, and what is read from a command line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scripts.cost.bill import bill, first_bill, turbopuffer
from scripts.cost.load import BEFORE, NOW, USERS, Load, read
from scripts.cost.page import PAGE, written
from scripts.cost.usage import first_load, month

LARGE = USERS["large en"]


def test_the_page_shows_what_the_model_says() -> None:
    text = PAGE.read_text("utf-8")
    assert text == written(text), "make docs"


def test_the_sweep_reads_every_namespace_once_a_round() -> None:
    small = USERS["small en"]  # 14 pages: one run, every 180 s and a minute
    assert month(small, NOW).pages == pytest.approx(14 * small.cleanups / 4)
    # 28 pages of each of 500 namespaces: 280 runs, and 180 s
    assert month(LARGE, NOW).pages == pytest.approx(14_000 * LARGE.cleanups / 283)


@pytest.mark.parametrize("name", list(USERS))
def test_every_user_pays_less_than_at_first(name: str) -> None:
    before, now = bill(USERS[name], BEFORE), bill(USERS[name], NOW)
    assert now["total"] < before["total"]
    assert sum(now.values()) == pytest.approx(2 * now["total"])


def test_turbopuffer_costs_its_minimum_or_what_is_used() -> None:
    assert sum(turbopuffer(USERS["small en"], NOW).values()) < 16
    assert bill(USERS["small en"], NOW)["turbopuffer"] == 16
    assert bill(LARGE, NOW)["turbopuffer"] == sum(turbopuffer(LARGE, NOW).values()) > 16


def test_an_edit_that_writes_its_chunks_only_costs_a_tenth_of_its_string() -> None:
    whole, chunks = month(LARGE, BEFORE), month(LARGE, NOW)
    assert chunks.written_bytes < whole.written_bytes / 10
    assert (chunks.rows, chunks.tokens) == (whole.rows, whole.tokens)


def test_fewer_dimensions_save_everywhere_and_f16_in_storage_only() -> None:
    short, half = replace(LARGE, dimensions=512), replace(LARGE, precision="f16")
    full, cheap = turbopuffer(LARGE, NOW), turbopuffer(half, NOW)
    assert first_bill(short) < first_bill(LARGE) == first_bill(half)
    assert cheap["storage"] < full["storage"]
    assert cheap["writes"] == full["writes"]
    assert first_load(half).written_bytes == first_load(LARGE).written_bytes


def test_queries_of_a_very_large_namespace_are_discounted() -> None:
    one = replace(LARGE, namespaces=1)
    billed = month(one, NOW).queried_bytes / 1e15
    assert 0 < turbopuffer(one, NOW)["queries"] < billed


def test_a_load_is_a_user_with_other_figures() -> None:
    found = read("small zh, questions_a_day=50, precision=f16, postgres=db.t4g.medium")
    small = USERS["small zh"]
    assert found == replace(small, questions_a_day=50, precision="f16", postgres="db.t4g.medium")
    assert isinstance(found, Load)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tiny en",
        "small en, pages=3",
        "small en, strings",
        "small en, strings=x",
        "small en, precision=f8",
    ],
)
def test_what_is_no_load_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"none of|one of|no name=value|could not convert"):
        read(text)
