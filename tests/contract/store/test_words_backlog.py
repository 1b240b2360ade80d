"""Contract of ``Chunks``."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from context_search.core.model import ChunkSet, Index, Project
from context_search.indexing.rules.chunks import (
    TEXTS_ABOVE,
    WORDS_WAIT_S,
    ChunkTokens,
    Unkeyed,
)
from context_search.indexing.vector_rows import tokens_of
from context_search.text.keywords import keyword_tokens, trails
from tests.builders import english
from tests.contract.store.bench import OTHER, TEXT, Bench, PostgresBench, only_postgres
from tests.steps import write_words


def noted(bench: Bench, text: str = TEXT, project: Project | None = None) -> tuple[Index, ChunkSet]:
    """An index over one string, whose words are to be written."""
    _, index = bench.tool(bench.table({"a": text}, project))
    [node_id] = bench.enumerate(index)
    made = bench.finish(node_id)
    bench.work.chunks.postpone_words([made.id])
    return bench.index(index.id), made


def take(bench: Bench, limit: int = 500, wait_s: float = WORDS_WAIT_S) -> list[Unkeyed]:
    return bench.work.chunks.take_wordless(limit=limit, wait_s=wait_s)


def is_behind(bench: Bench, index: Index) -> bool:
    return bench.work.chunks.lacks_words(index)


def test_an_index_is_behind_until_its_words_are_written(bench: Bench) -> None:
    index, made = noted(bench)
    _, other = bench.indexed({"a": OTHER})
    assert (is_behind(bench, index), is_behind(bench, other)) == (True, False)
    assert write_words(bench.store, 2) == 2
    assert is_behind(bench, index)
    assert write_words(bench.store, 2) == len(made.chunks) - 2 == 1
    assert not is_behind(bench, index)
    assert write_words(bench.store) == 0


def test_what_is_noted_twice_or_gone_is_taken_once_or_not(bench: Bench) -> None:
    index, made = noted(bench)
    bench.work.chunks.postpone_words([made.id, made.id + 999])
    assert write_words(bench.store) == len(made.chunks)
    again, _ = noted(bench)
    bench.delete_by_hand(bench.node_at(again, "/a"))
    assert (take(bench), is_behind(bench, again), is_behind(bench, index)) == ([], False, False)


def test_chunks_come_in_the_text_around_them(bench: Bench) -> None:
    text = f"# Tides\n\n{english(250)}\n\n## Moons of the harbour\n\n{english(250, seed=4)}"
    _, made = noted(bench, text)
    bench.work.keywords.put([ChunkTokens(made.chunks[2].id, ["here"])])
    [found] = take(bench)
    wanted = [chunk for chunk in made.chunks if chunk.index != 2]
    assert found.text == text
    assert [chunk.id for chunk in found.chunks] == [chunk.id for chunk in wanted]
    cut = [found.text[chunk.start : chunk.end] for chunk in found.chunks]
    assert cut == [chunk.text for chunk in wanted]
    above = trails(text, [chunk.start for chunk in found.chunks])
    assert {"Tides", "Tides\nMoons of the harbour"} <= set(above)
    assert [each.tokens for each in tokens_of(found)] == [
        keyword_tokens(*each) for each in zip(cut, above, strict=True)
    ]


def test_of_a_very_long_string_only_a_part_is_read(bench: Bench) -> None:
    _, made = noted(bench, english(152_000))
    late = [chunk for chunk in made.chunks if chunk.index >= TEXTS_ABOVE + 9]
    assert late
    bench.work.keywords.put(
        [ChunkTokens(one.id, ["here"]) for one in made.chunks if one not in late]
    )
    [found] = take(bench)
    begin = late[0].index - TEXTS_ABOVE
    assert [chunk.id for chunk in found.chunks] == [chunk.id for chunk in late]
    assert found.text.startswith(made.chunks[begin].text)
    assert found.text.endswith(late[-1].text)
    cut = [found.text[chunk.start : chunk.end] for chunk in found.chunks]
    assert cut == [chunk.text for chunk in late]


def test_chunks_far_apart_are_not_taken_together(bench: Bench) -> None:
    _, made = noted(bench, english(152_000))
    first, *rest, last = made.chunks
    bench.work.keywords.put([ChunkTokens(one.id, ["here"]) for one in rest])
    for chunk in (first, last):
        [found] = bench.work.chunks.take_wordless(limit=500)
        bench.work.keywords.put(tokens_of(found))
        assert [one.id for one in found.chunks] == [chunk.id]
    assert take(bench) == []


def test_words_wait_while_their_project_has_strings_to_index(bench: Bench) -> None:
    project = bench.project()
    _, made = noted(bench, project=project)
    _, beside = noted(bench, OTHER)
    _, index = bench.tool(bench.table({"a": TEXT, "b": OTHER}, project))
    queued, claimed = bench.enumerate(index)
    bench.claim(claimed)
    ids = {chunk.id for one in take(bench) for chunk in one.chunks}
    assert ids == {chunk.id for chunk in beside.chunks}
    assert take(bench, wait_s=1_000) == []
    bench.pass_time(1_001)
    [waited] = take(bench, wait_s=1_000)
    assert [chunk.id for chunk in waited.chunks] == [chunk.id for chunk in made.chunks]
    bench.finish(queued)


def test_words_wait_until_their_generation_answers(bench: Bench) -> None:
    index, made = noted(bench)
    assert write_words(bench.store) == len(made.chunks)
    building = bench.work.indexes.start_rebuild(index, index.config, at_once=1)
    [node_id] = bench.enumerate(building)
    built = bench.finish(node_id)
    bench.work.chunks.postpone_words([built.id])
    assert take(bench) == []
    assert not is_behind(bench, index)
    pending = bench.work.indexes.pending(index.id)
    assert pending is not None
    bench.work.indexes.switch(pending)
    assert is_behind(bench, bench.index(index.id))
    assert write_words(bench.store) == len(built.chunks)


@pytest.mark.parametrize("limit", [1, 2, 4, 7, 500])
def test_every_set_has_its_turn(bench: Bench, limit: int) -> None:
    sets = [noted(bench, english(250, seed=seed))[1] for seed in range(4)]
    written = []
    while some := write_words(bench.store, limit):
        written.append(some)
    total = sum(len(each.chunks) for each in sets)
    assert sum(written) == total
    assert written == [limit] * (total // limit) + [total % limit] * (total % limit > 0)
    assert take(bench) == []


@only_postgres
def test_who_deletes_a_string_waits_until_its_words_are_written(bench: PostgresBench) -> None:
    index, _ = noted(bench)
    node_id = bench.node_at(index, "/a")
    with bench.store.for_all("test") as work:
        [taken] = work.chunks.take_wordless(limit=500)
        deleting = bench.begun(bench.delete_by_hand, node_id)
        assert not deleting.done()
        work.keywords.put(tokens_of(taken))
    deleting.result()
    assert bench.count("chunk_words") == bench.count("words_backlog") == 0


@only_postgres
def test_a_string_that_is_being_deleted_is_left_out(bench: PostgresBench) -> None:
    index, _ = noted(bench)
    _, other = noted(bench, OTHER)
    with bench.tx() as deleting, ThreadPoolExecutor(1) as thread:
        deleting.run("DELETE FROM node WHERE generation_id = :id", id=index.generation.id)
        assert thread.submit(write_words, bench.store).result() == len(other.chunks)
    assert bench.count("words_backlog") == 0


def test_words_of_an_index_that_is_gone_wait_for_nobody(bench: Bench) -> None:
    index, _ = noted(bench)
    bench.work.indexes.retire(index.id)
    bench.work.removals.remove_retired_nodes(limit=10)
    assert take(bench) == []
