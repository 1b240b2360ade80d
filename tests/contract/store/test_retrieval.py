"""Contract of what retrieval reads: chunks around hits, and the settings of projects."""

from __future__ import annotations

import pytest

from context_search.catalog.rules.settings import StoredSettings
from context_search.core.documents import content_hash
from context_search.searching.rules.retrieval import ChunkText, RetrievalSettings
from tests.builders import english
from tests.contract.store.bench import OTHER, TEXT, Bench

LONG = english(900)
CONTENTS = {content_hash(text) for text in (LONG, TEXT, OTHER)}


DEFAULTS = StoredSettings(0, RetrievalSettings())


def around(bench: Bench, ids: list[int], reach: int) -> list[ChunkText]:
    return bench.work.live_chunks.around(ids, contents=CONTENTS, reach=reach)


def chunk_ids(bench: Bench, node: int) -> list[int]:
    """Indexes a node; the ids of its chunks by index."""
    return [chunk.id for chunk in bench.finish(node).chunks]


def long_node(bench: Bench) -> list[int]:
    """The chunks of a long text, beside another text."""
    _, index = bench.tool(bench.table({"a": LONG, "b": OTHER}))
    bench.enumerate(index)
    bench.finish(bench.node_at(index, "/b"))
    return chunk_ids(bench, bench.node_at(index, "/a"))


@pytest.mark.parametrize(
    ("hits", "reach", "expected"),
    [
        ([4], 0, [4]),
        ([4], 1, [3, 4, 5]),
        ([0], 2, [0, 1, 2]),
        ([1, 2], 1, [0, 1, 2, 3]),
        ([6, 2], 1, [1, 2, 3, 5, 6, 7]),
        ([4], 10**6, None),
        ([], 3, []),
    ],
)
def test_chunks_come_with_those_beside_them(
    bench: Bench, hits: list[int], reach: int, expected: list[int] | None
) -> None:
    ids = long_node(bench)
    found = around(bench, [ids[hit] for hit in hits], reach)
    assert [chunk.id for chunk in found] == [
        ids[i] for i in (range(len(ids)) if expected is None else expected)
    ]
    assert [chunk.text for chunk in found] == [LONG[chunk.start : chunk.end] for chunk in found]
    assert [ids[chunk.index] for chunk in found] == [chunk.id for chunk in found]
    assert len({chunk.set_id for chunk in found}) <= 1


def test_chunks_of_several_texts_come_one_text_after_the_other(bench: Bench) -> None:
    _, index = bench.tool(bench.table({"a": TEXT, "b": OTHER}))
    bench.enumerate(index)
    both = [chunk_ids(bench, bench.node_at(index, pointer)) for pointer in ("/a", "/b")]
    found = around(bench, [both[1][0], both[0][0]], 1)
    assert [chunk.index for chunk in found] == [0, 1, 0, 1]
    assert len({chunk.set_id for chunk in found}) == 2


def test_a_text_that_was_replaced_has_nothing_around(bench: Bench) -> None:
    table = bench.table({"a": TEXT})
    _, index = bench.tool(table)
    bench.enumerate(index)
    old = chunk_ids(bench, bench.node_at(index, "/a"))
    bench.change(table, {"a": LONG})
    bench.enumerate(index)
    building = bench.begin(bench.claim(bench.node_at(index, "/a")))
    assert len(around(bench, old, 0)) == len(old)
    assert building.missing
    assert around(bench, [chunk.id for chunk in building.missing], 9) == []
    bench.mark(building)
    assert len(around(bench, old, 0)) == len(old)


def test_unknown_chunks_have_nothing_around(bench: Bench) -> None:
    assert around(bench, [10**15], 3) == []


def test_a_project_without_settings_has_the_defaults(bench: Bench) -> None:
    project = bench.project()
    with bench.store.for_all("test") as work:
        assert work.project_settings.read(RetrievalSettings, project.id) == StoredSettings(
            0, RetrievalSettings()
        )
        assert work.project_settings.lock(RetrievalSettings, project.id) == StoredSettings(
            0, RetrievalSettings()
        )
    assert bench.work.project_settings.read(RetrievalSettings, project.id) == StoredSettings(
        0, RetrievalSettings()
    )


def test_settings_are_read_as_they_were_written_and_each_write_is_a_version(bench: Bench) -> None:
    project, other = bench.project(), bench.project()
    first = RetrievalSettings(3, 0.25, 100, 0, redaction=False, kinds=("email",))
    second = RetrievalSettings(kinds=())
    for version, settings in enumerate([first, second], start=1):
        with bench.store.for_all("test") as work:
            work.project_settings.lock(RetrievalSettings, project.id)
            written = work.project_settings.write(project.id, settings)
        assert written == StoredSettings(version, settings)
        assert bench.work.project_settings.read(RetrievalSettings, project.id) == written
        assert bench.work.project_settings.read(RetrievalSettings, other.id).version == 0
