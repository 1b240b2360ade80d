"""Searches in documents that repeat themselves, as filings, contracts and manuals do."""

from __future__ import annotations

import pytest

from context_search.ranking.search import MAX_PLACES, QuestionLimits, SearchResult
from context_search.searching.rules.searched import SearchedTool
from tests.builders import english
from tests.system import System

COMPANIES = [f"Company{letter}" for letter in "ABCDEFGHIJKL"]
TOPICS = {
    "liquidity": "borrowings covenants maturities facility",
    "litigation": "lawsuits plaintiffs settlement appeal",
    "weather": "hurricanes flooding drought insurance",
    "privacy": "breaches encryption regulators disclosure",
    "supply": "vendors shortages freight tariffs",
    "staff": "unions wages retention training",
    "patents": "licences infringement expiry royalties",
    "leases": "landlords renewals premises rent",
}
PAIRS = [(one, other) for one in TOPICS for other in TOPICS if one < other]


def section(topic: str, company: str) -> str:
    """What each of them files on a topic: the same, but for the name."""
    number = list(TOPICS).index(topic)
    words = TOPICS[topic].split()
    body = english(500, seed=number).split()
    for place, word in enumerate(words):
        body[9 + 17 * place] = word
    return f"{company} {topic}: {' '.join(body)} {company}."


@pytest.fixture(scope="module")
def filings() -> tuple[System, int]:
    """Eight sections of twelve companies, and a tool."""
    system = System(chunk_size=1_000, chunk_overlap=100)
    rows = [
        {"text": section(topic, company), "by": company, "on": topic}
        for topic in TOPICS
        for company in COMPANIES
    ]
    tool_id = system.tool(system.table({"filings": rows})).tool.id
    system.work()
    return system, tool_id


def asked(filings: tuple[System, int], query: str, top_k: int, *, collapse: bool) -> SearchResult:
    system, tool_id = filings
    limits = QuestionLimits(top_k=top_k, collapse=collapse)
    return system.searches.search(SearchedTool.by(system.principal, tool_id), query, limits)


def topics(answer: SearchResult) -> list[str]:
    return [hit.chunk.chunk_text.split(":")[0].split()[1] for hit in answer.hits]


def recall(filings: tuple[System, int], *, collapse: bool) -> float:
    """Share of the two texts that answer a question which are among the first three hits."""
    found = 0
    for pair in PAIRS:
        words = [TOPICS[topic].split() for topic in pair]
        query = " ".join([*words[0][:2], *words[1][1:3]])
        found += len({*pair} & {*topics(asked(filings, query, 3, collapse=collapse))})
    return found / (2 * len(PAIRS))


def test_answers_that_copies_hid_are_among_the_first(filings: tuple[System, int]) -> None:
    assert recall(filings, collapse=False) < 0.85
    assert recall(filings, collapse=True) > 0.97


def test_every_copy_is_told_or_counted(filings: tuple[System, int]) -> None:
    answer = asked(filings, "lawsuits plaintiffs", 5, collapse=True)
    assert len(set(topics(answer))) == len(answer.hits) == 5
    best = answer.hits[0]
    assert topics(answer)[0] == "litigation"
    assert best.duplicates_total == len(COMPANIES) - 1
    places = {best.chunk.json_pointer, *(copy.json_pointer for copy in best.duplicates)}
    first = list(TOPICS).index("litigation") * len(COMPANIES)
    assert len(places) == 1 + MAX_PLACES
    assert places < {f"/filings/{first + n}/text" for n in range(len(COMPANIES))}


def test_the_company_that_is_asked_for_is_the_one_that_is_shown(
    filings: tuple[System, int],
) -> None:
    for company in COMPANIES:
        [best] = asked(filings, f"{company} lawsuits", 1, collapse=True).hits
        assert best.chunk.chunk_text.startswith(company)
        assert best.duplicates_total > 0


def test_without_being_asked_to_a_search_shows_what_ranks(filings: tuple[System, int]) -> None:
    answer = asked(filings, "lawsuits plaintiffs", 5, collapse=False)
    assert topics(answer) == ["litigation"] * 5
    assert [hit.duplicates_total for hit in answer.hits] == [0] * 5


@pytest.mark.parametrize("strategy", ["hybrid", "keyword", "semantic"])
def test_more_copies_than_a_leg_has_places_hide_nothing(strategy: str) -> None:
    system = System(chunk_size=1_000, chunk_overlap=100)
    copies = ["The harbour is closed in winter, the harbour office says."] * 120
    document = {"copies": copies, "other": "In winter ships wait outside of the harbour for days."}
    tool_id = system.tool(system.table(document), strategy=strategy).tool.id
    system.work()
    answer = asked((system, tool_id), "harbour office", 3, collapse=True)
    assert [hit.json_path for hit in answer.hits] == ["/copies/0", "/other"]
    assert answer.hits[0].duplicates_total == 119
