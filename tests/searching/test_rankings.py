"""How PostgreSQL keeps rankings, and what project search reads beside its hits."""

from __future__ import annotations

from tests.contract.store.bench import TEXT, Bench

BODY: dict[str, object] = {"rows": [{"doc_id": "a", "score": 0.5}], "legs": ["vector"]}


def kept(bench: Bench, project_id: int, *, at_most: int = 9) -> str:
    with bench.store.for_all("test") as work:
        return work.rankings.keep(project_id, BODY, at_most=at_most)


def found(bench: Bench, project_id: int, name: str) -> dict[str, object] | None:
    with bench.store.for_all("test") as work:
        return work.rankings.find(project_id, name, max_age_s=600)


def test_a_ranking_is_found_by_its_project_alone(bench: Bench) -> None:
    project, stranger = bench.project(), bench.project()
    name = kept(bench, project.id)
    assert len(name) == 32
    assert set(name) <= set("0123456789abcdef")
    assert found(bench, project.id, name) == BODY
    assert found(bench, stranger.id, name) is None
    assert found(bench, project.id, "f" * 32) is None


def test_an_old_ranking_is_not_found_and_is_forgotten(bench: Bench) -> None:
    project = bench.project()
    old = kept(bench, project.id)
    bench.pass_time(599)
    young = kept(bench, project.id)
    assert found(bench, project.id, old) == BODY
    bench.pass_time(2)
    assert found(bench, project.id, old) is None
    with bench.store.for_all("test") as work:
        assert work.rankings.delete_expired(older_than_s=600) == 1
        assert work.rankings.delete_expired(older_than_s=600) == 0
    assert found(bench, project.id, young) == BODY


def test_a_project_keeps_its_newest_rankings(bench: Bench) -> None:
    project, neighbour = bench.project(), bench.project()
    others = kept(bench, neighbour.id)
    names = [kept(bench, project.id, at_most=2) for _ in range(4)]
    assert [found(bench, project.id, name) is None for name in names] == [True, True, False, False]
    assert found(bench, neighbour.id, others) == BODY


def test_strings_are_read_by_table_and_pointer(bench: Bench) -> None:
    project = bench.project()
    one, other = bench.table({"a": TEXT, "b": 1}, project), bench.table({"a": TEXT}, project)
    index = bench.project_index(project.id)
    for node_id in bench.compare(index, one):
        bench.finish(node_id)
    bench.compare(index, other)
    with bench.store.for_all("test") as work:
        places = [(one.id, "/a"), (one.id, "/b"), (other.id, "/a"), (one.id, "/c")]
        texts = work.live_chunks.first_texts(index, places)
        assert list(texts) == [(one.id, "/a")]
        assert TEXT.startswith(texts[one.id, "/a"])
        assert work.live_chunks.first_texts(index, []) == {}


def test_names_are_those_of_live_tables_of_the_project(bench: Bench) -> None:
    project = bench.project()
    one, gone, foreign = bench.table(1, project), bench.table(1, project), bench.table(1)
    bench.delete(gone)
    with bench.store.for_all("test") as work:
        ids = [one.id, gone.id, foreign.id, 10**9]
        assert work.tables.names(project.id, ids) == {one.id: "t"}
        assert work.tables.names(project.id, []) == {}
