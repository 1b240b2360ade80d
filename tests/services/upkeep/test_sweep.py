"""What is in turbopuffer is what Postgres says, or is made so."""

from __future__ import annotations

from dataclasses import replace

from tests.services.house import House, prose


def built(house: House) -> str:
    status = house.tool(house.table({"a": prose(1_000)}))
    house.work()
    return status.index.namespace


def test_a_document_that_nobody_knows_is_deleted() -> None:
    house = House()
    namespace = built(house)
    documents = house.vectors.namespaces[namespace]
    known = next(iter(documents.values()))
    documents["1.stranger.x.1.0"] = replace(known, id="1.stranger.x.1.0")
    documents[known.id + ".w1"] = replace(known, id=known.id + ".w1")
    found = house.sweep.run(older_than_s=0)
    assert found is not None
    assert found.orphans == 1  # a further window of a known chunk is no stranger
    assert "1.stranger.x.1.0" not in documents


def test_a_lost_namespace_is_written_again() -> None:
    house = House()
    namespace = built(house)
    before = house.documents()
    del house.vectors.namespaces[namespace]
    found = house.sweep.run(older_than_s=0)
    assert found is not None
    assert found.missing == found.repaired == len(before)
    house.work()
    assert house.documents() == before


def test_one_lost_document_is_embedded_again_and_no_other() -> None:
    house = House()
    namespace = built(house)
    before, embedded = house.documents(), house.embedder.embedded
    del house.vectors.namespaces[namespace][sorted(before)[0]]
    house.sweep.run(older_than_s=0)
    house.work()
    assert house.documents() == before
    assert house.embedder.embedded == embedded + 1


def test_a_chunk_of_more_windows_than_a_page_holds_does_not_stop_a_sweep() -> None:
    house = House(window_tokens=3)
    namespace = built(house)
    lost = max(house.vectors.namespaces[namespace])
    del house.vectors.namespaces[namespace][lost]
    sweep = replace(house.sweep, page=3)
    found = 0
    for _ in range(len(house.documents())):
        page = sweep.run(older_than_s=0)
        assert page is not None
        found += page.missing
        with house.store.for_all("test") as work:
            if work.sweeps.reports(None):
                break
    else:
        raise AssertionError("the sweep does not end")
    assert found == 1


def test_a_healthy_namespace_has_a_report_without_findings() -> None:
    house = House()
    built(house)
    house.sweep.run(older_than_s=0)
    with house.store.for_all("test") as work:
        [report] = work.sweeps.reports(None)
    assert (report["orphans"], report["missing"]) == (0, 0)
    assert report["checked"] == len(house.documents())
    assert house.sweep.run(older_than_s=3_600) is None


def test_a_search_on_a_lost_namespace_says_so_and_orders_what_mends_it() -> None:
    house = House()
    other = house.tool(house.table({"b": prose(300, 2)})).index.namespace
    tool = house.tool(house.table({"a": prose(1_000)}))
    house.work()
    for _ in range(2):
        house.sweep.run(older_than_s=0)
        house.clock.advance(1)
    before = house.documents()
    del house.vectors.namespaces[tool.index.namespace]
    answer = house.search(tool.tool.id, house.principal, "harbour winter", 5)
    assert (bool(answer.hits), answer.degraded) == (True, ["namespace_missing"])
    with house.store.for_all("test") as work:
        [due] = work.sweeps.due(older_than_s=3_600, limit=9)
    assert due.namespace == tool.index.namespace != other
    house.sweep.run(older_than_s=3_600)
    house.work()
    assert house.documents() == before
    answer = house.search(tool.tool.id, house.principal, "harbour winter", 5)
    assert answer.hits
    assert (answer.degraded, answer.target.status) == ([], "ready")


def test_a_namespace_that_never_was_is_not_lost() -> None:
    house = House()
    tool = house.tool(house.table({"a": "short"}))
    house.work()
    answer = house.search(tool.tool.id, house.principal, "harbour winter", 5)
    assert (answer.hits, answer.degraded) == ([], [])
