"""What is in turbopuffer is what Postgres says, or is made so."""

from __future__ import annotations

from dataclasses import replace

from tests.steps import write_words
from tests.system import System, prose


def built(system: System) -> str:
    status = system.tool(system.table({"a": prose(1_000)}))
    system.work()
    return status.index.generation.namespace


def test_a_document_that_nobody_knows_is_deleted() -> None:
    system = System()
    namespace = built(system)
    documents = system.vectors.namespaces[namespace]
    known = next(iter(documents.values()))
    documents["1.stranger.x.1.0"] = replace(known, id="1.stranger.x.1.0")
    documents[known.id + ".w1"] = replace(known, id=known.id + ".w1")
    found = system.sweep.run(older_than_s=0)
    assert found is not None
    assert found.orphans == 1  # a further window of a known chunk is no stranger
    assert "1.stranger.x.1.0" not in documents


def test_a_chunk_of_more_windows_than_a_page_holds_does_not_stop_a_sweep() -> None:
    system = System(window_tokens=3)
    namespace = built(system)
    lost = max(system.vectors.namespaces[namespace])
    del system.vectors.namespaces[namespace][lost]
    sweep = replace(system.sweep, page=3)
    found = 0
    for _ in range(len(system.documents())):
        page = sweep.run(older_than_s=0)
        assert page is not None
        found += page.missing
        with system.store.for_all("test") as work:
            if work.sweeps.reports(None):
                break
    else:
        raise AssertionError("the sweep does not end")
    assert found == 1


def test_a_healthy_namespace_has_a_report_without_findings() -> None:
    system = System()
    built(system)
    system.sweep.run(older_than_s=0)
    with system.store.for_all("test") as work:
        [report] = work.sweeps.reports(None)
    assert (report["orphans"], report["missing"]) == (0, 0)
    assert report["checked"] == len(system.documents())
    assert system.sweep.run(older_than_s=3_600) is None


def test_a_search_on_a_lost_namespace_says_so_and_orders_what_mends_it() -> None:
    system = System()
    other = system.tool(system.table({"b": prose(300, 2)})).index.generation.namespace
    tool = system.tool(system.table({"a": prose(1_000)}))
    system.work()
    write_words(system.store)
    for _ in range(2):
        system.sweep.run(older_than_s=0)
        system.clock.advance(1)
    before = system.documents()
    del system.vectors.namespaces[tool.index.generation.namespace]
    answer = system.search(tool.tool.id, system.principal, "harbour winter", 5)
    assert (bool(answer.hits), answer.degraded) == (True, ["namespace_missing"])
    with system.store.for_all("test") as work:
        [due] = work.sweeps.due(older_than_s=3_600, limit=9)
    assert due.namespace == tool.index.generation.namespace != other
    system.sweep.run(older_than_s=3_600)
    system.work()
    assert system.documents() == before
    answer = system.search(tool.tool.id, system.principal, "harbour winter", 5)
    assert answer.hits
    assert (answer.degraded, answer.target.status) == ([], "ready")


def test_a_namespace_that_never_was_is_not_lost() -> None:
    system = System()
    tool = system.tool(system.table({"a": "short"}))
    system.work()
    answer = system.search(tool.tool.id, system.principal, "harbour winter", 5)
    assert (answer.hits, answer.degraded) == ([], [])
