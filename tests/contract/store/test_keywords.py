"""Contract of ``Keywords``."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from context_search.core.errors import KeywordTimeoutError
from context_search.core.model import ChunkSet, Index, Reach
from context_search.indexing.rules.chunks import ChunkTokens
from context_search.ranking.bm25 import idf, term_weight
from context_search.searching.sql.keywords import RESCORED
from context_search.text.analysis import query_tokens, query_weights, tokens
from tests.builders import chinese, english
from tests.contract.store.bench import OTHER, TEXT, Bench, PostgresBench, only_postgres
from tests.steps import table_of, write_words

EVERYWHERE = Reach()


def put(bench: Bench, chunk_set: ChunkSet) -> None:
    bench.work.keywords.put([ChunkTokens(one.id, tokens(one.text)) for one in chunk_set.chunks])


def searchable(bench: Bench, document: object) -> Index:
    """An index of a document, all of it indexed, words too."""
    _, index = bench.tool(bench.table(document))
    for node_id in bench.enumerate(index):
        put(bench, bench.finish(node_id))
    return bench.index(index.id)


def found(
    bench: Bench, index: Index, query: str, reach: Reach = EVERYWHERE, limit: int = 50
) -> list[tuple[str, float]]:
    """Document ids and scores, best first."""
    ranked = bench.work.keywords.best(index, reach, query_weights(query), limit, timeout_s=9)
    return [(one.doc_id, one.score) for one in ranked]


def pointers(bench: Bench, index: Index, ranked: list[tuple[str, float]]) -> list[str]:
    ids = [doc_id for doc_id, _ in ranked]
    chunks = bench.work.live_chunks.hydrate(index, EVERYWHERE, ids)
    return [chunks[doc_id].json_pointer for doc_id in ids]


def test_the_order_is_bm25(bench: Bench) -> None:
    texts = [
        "ferry harbour harbour quay",
        "ferry ferry ferry quay boat",
        "boat tenant uncle winter",
    ]
    index = searchable(bench, texts)
    ranked = found(bench, index, "ferry harbour")
    mean = 13 / 3
    ferry, harbour = idf(2, 3), idf(1, 3)
    assert pointers(bench, index, ranked) == ["/0", "/1"]
    assert [score for _, score in ranked] == pytest.approx(
        [
            ferry * term_weight(1, 4, mean) + harbour * term_weight(2, 4, mean),
            ferry * term_weight(3, 5, mean),
        ]
    )


def test_a_word_counts_what_the_question_says(bench: Bench) -> None:
    texts = ["ferry harbour quay tower", "ferry uncle boat winter", "harbour tenant boat tower"]
    index = searchable(bench, texts)
    words = {"ferri": 1.0, "harbour": 0.25}
    ranked = bench.work.keywords.best(index, EVERYWHERE, words, 5, timeout_s=9)
    ferry, harbour = (idf(2, 3) * term_weight(1, 4, 4) * weight for weight in words.values())
    assert [one.score for one in ranked] == pytest.approx([ferry + harbour, ferry, harbour])


def test_neighbours_in_chinese_count_more_than_scattered_characters(bench: Bench) -> None:
    near = "新的图书馆在城门旁边，春天的花开在街上，老师学生都来。"
    far = "馆里有一本书，书里有一幅图，春天的花开在街上，老师学生。"
    index = searchable(bench, [far, near, "秋天的雨落在桥上，朋友坐船去南方，信还没有写完呢。"])
    ranked = found(bench, index, "圖書館")
    assert pointers(bench, index, ranked) == ["/1", "/0"]
    assert ranked[0][1] > ranked[1][1] > 0


def test_every_score_is_that_of_bm25_in_chinese_too(bench: Bench) -> None:
    texts = [chinese(90, seed) for seed in range(12)]
    index = searchable(bench, texts)
    counts = [tokens(text) for text in texts]
    mean = sum(map(len, counts)) / len(counts)
    words = query_tokens("春天老师写信")
    expected = []
    for each in counts:
        weights = [
            idf(sum(word in other for other in counts), len(counts))
            * term_weight(each.count(word), len(each), mean)
            for word in words
        ]
        expected.append(sum(weights))
    scores = [score for _, score in found(bench, index, "春天老师写信")]
    assert scores == pytest.approx(sorted((one for one in expected if one), reverse=True))


def test_nothing_is_found_without_words_or_for_words_that_nobody_has(bench: Bench) -> None:
    index = searchable(bench, [TEXT])
    assert found(bench, index, "the of") == []
    assert found(bench, index, "zyzzyva 龘") == []


def test_quotes_and_operators_in_words_are_only_characters(bench: Bench) -> None:
    index = searchable(bench, [TEXT])
    words = ["a'b", "\\", "a & b", "!x", "('", "x:*", "<->", "''", "\\'"]
    wanted = dict.fromkeys(words, 1.0)
    assert bench.work.keywords.best(index, EVERYWHERE, wanted, 5, timeout_s=9) == []


def test_equal_scores_are_ordered_by_id(bench: Bench) -> None:
    index = searchable(bench, ["ferry harbour quay boat"] * 9)
    ranked = found(bench, index, "harbour")
    assert len(ranked) == 9
    assert len({score for _, score in ranked}) == 1
    assert ranked == sorted(ranked)
    assert found(bench, index, "harbour", limit=4) == ranked[:4]


def test_only_what_is_within_reach_is_found(bench: Bench) -> None:
    text = english(60)
    document = {"a": {"b": text}, "ab": text, "a/b": text, "": text}
    index = searchable(bench, document)
    for pointer, expected in {
        "": {"/a/b", "/ab", "/a~1b", "/"},
        "/a": {"/a/b"},
        "/a/b": {"/a/b"},
        "/a~1b": {"/a~1b"},
        "/": {"/"},
        "/b": set[str](),
    }.items():
        ranked = found(bench, index, text, Reach(pointer))
        assert set(pointers(bench, index, ranked)) == expected


def test_a_reach_of_tables_leaves_others_out(bench: Bench) -> None:
    index = searchable(bench, [TEXT])
    here, elsewhere = table_of(index), table_of(index) + 999
    assert len(found(bench, index, TEXT, Reach("", (here,)))) == 3
    assert len(found(bench, index, TEXT, Reach("", (elsewhere, here)))) == 3
    assert found(bench, index, TEXT, Reach("", (elsewhere,))) == []
    assert found(bench, index, TEXT, Reach("", ())) == []


def test_only_the_active_version_is_found(bench: Bench) -> None:
    table, index = bench.served({"a": TEXT})
    [node_id] = bench.enumerate(index)
    building = bench.begin(claim := bench.claim(node_id))
    bench.mark(building)
    put(bench, building)
    assert found(bench, index, TEXT) == []
    assert bench.activate(claim, building)
    old = bench.ids(index)
    assert sorted(doc_id for doc_id, _ in found(bench, index, TEXT)) == old
    bench.change(table, {"a": OTHER})
    bench.enumerate(index)
    put(bench, bench.finish(node_id))
    new = sorted(doc_id for doc_id, _ in found(bench, index, OTHER))
    assert new == bench.ids(index) != old


def test_a_generation_that_is_being_built_has_words_of_its_own(bench: Bench) -> None:
    index = searchable(bench, {"a": TEXT})
    building = bench.work.indexes.start_rebuild(index, index.config, at_once=1)
    for node_id in bench.enumerate(building):
        put(bench, bench.finish(node_id))
    both = [found(bench, each, TEXT) for each in (index, building)]
    assert [len(each) for each in both] == [3, 3]
    assert not {doc_id for doc_id, _ in both[0]} & {doc_id for doc_id, _ in both[1]}


def test_words_come_twice_without_harm_and_go_with_their_chunk(bench: Bench) -> None:
    _, index = bench.served({"a": TEXT})
    [node_id] = bench.enumerate(index)
    chunk_set = bench.finish(node_id)
    put(bench, chunk_set)
    before = found(bench, index, TEXT)
    put(bench, chunk_set)
    assert found(bench, index, TEXT) == before
    bench.work.nodes.remove([node_id])
    assert found(bench, index, TEXT) == []
    put(bench, chunk_set)
    assert found(bench, index, TEXT) == []


def test_each_of_the_longest_and_of_the_most_tokens_of_a_chunk_is_found(bench: Bench) -> None:
    index, node_id = bench.node()
    [first, *_] = bench.finish(node_id).chunks
    longest = ["\U0001f600" * 63, "é" * 127, "x" * 128]
    many = [f"{number}word" for number in range(8_000)] * 3
    bench.work.keywords.put([ChunkTokens(first.id, [*longest, *many])])
    for word in [*longest, many[0], many[-1]]:
        [hit] = bench.work.keywords.best(index, EVERYWHERE, {word: 1.0}, 9, timeout_s=9)
        assert hit.doc_id == first.doc_id


@pytest.mark.parametrize("limit", [1, 2, 9])
def test_words_that_were_deleted_by_hand_are_noticed_and_written_again(
    bench: Bench, limit: int
) -> None:
    index, other = searchable(bench, {"a": TEXT}), searchable(bench, {"a": TEXT})
    before = found(bench, index, TEXT)
    bench.delete_words_by_hand(index.generation.id)
    assert found(bench, index, TEXT) == []
    rounds = 0
    while True:
        written = write_words(bench.store, limit)
        if not written:
            break
        assert written <= limit
        rounds += 1
    assert rounds == -(-len(before) // limit)
    assert found(bench, index, TEXT) == before
    assert len(found(bench, other, TEXT)) == len(before)


@only_postgres
@pytest.mark.parametrize("timeout_s", [0.0, -1.0])
def test_without_time_there_is_no_answer(bench: Bench, timeout_s: float) -> None:
    index = searchable(bench, {"a": TEXT})
    with pytest.raises(KeywordTimeoutError), bench.store.for_all("test") as work:
        work.keywords.best(index, EVERYWHERE, {"ferry": 1.0}, 9, timeout_s=timeout_s)


@only_postgres
def test_a_search_that_takes_too_long_is_ended(bench: PostgresBench) -> None:
    index = searchable(bench, {"a": TEXT})
    best = partial(bench.work.keywords.best, index, EVERYWHERE, query_weights(TEXT), 2)
    with bench.tx() as tx, ThreadPoolExecutor(1) as other:
        tx.run("LOCK TABLE chunk_words IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(KeywordTimeoutError) as raised:
            other.submit(best, timeout_s=0.2).result()
    assert raised.value.retryable
    assert best(timeout_s=9) != []


def test_there_may_be_more_hits_than_texts_are_read(bench: Bench) -> None:
    index = searchable(bench, [english(40_000)])
    query = "harbour ferry season tenant quarry"
    ranked = found(bench, index, query, limit=1_000)
    assert len(ranked) > RESCORED
    assert len({doc_id for doc_id, _ in ranked}) == len(ranked)
    scores = [score for _, score in ranked]
    assert scores == sorted(scores, reverse=True)
    assert found(bench, index, query, limit=20) == ranked[:20]
