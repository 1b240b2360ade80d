"""Texts that broke other chunkers, and questions that are none."""

from __future__ import annotations

import pytest

from tests.functions.deployment import Deployment
from tests.hostile.stranger import Stranger

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words", "log")]

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
TEXTS = {
    "overlap as long as the piece": "x" * 50 + "\n\n" + "y" * 20_000,
    "nothing to cut at": "data: " + "Q" * 20_000,
    "windows line ends": "The mill turns.\r\n\r\nThe miller sleeps.\r\n" * 200,
    "families": FAMILY * 500,
    "flags": "\U0001f1e8\U0001f1f3" * 2_000,
    "one letter with everything on it": "z" + "\u0301\u0323\u0489" * 2_000,
    "combining marks alone": "\u0301" * 3_000,
    "line ends alone around a word": "\n" * 2_000 + "lantern" + "\n" * 2_000,
    "wide and narrow": "\U0001f600a\u4e2d" * 700,
    "both directions": "\u05e9\u05dc\u05d5\u05dd hello \u0645\u0631\u062d\u0628\u0627 \u202e123 "
    * 99,
    "no spaces": "\u6f22\u5b57" * 1_500,
    "controls": "".join(map(chr, range(1, 32))) * 60 + "bell",
    "astral letters": "\U0001d4d7\U0001d4ee\U0001d4f5\U0001d4f5\U0001d4f8 " * 300,
    "noncharacters": "\ufffe\uffff\ufdd0word " * 300,
}
BLANK = {"spaces": " " * 500, "line ends": "\r\n" * 300, "tabs": "\t" * 50, "wide": "\u3000" * 99}

SOUND_QUERIES = [
    "'; DROP TABLE node; --",
    "a' OR '1'='1",
    ":name %s $1 ?",
    "(a+)+$",
    "lantern\r\nSet-Cookie: x",
    "miller " * 280,
    "\u202emiller",
    "% _ * ? [a]",
]


@pytest.fixture(scope="module")
def library(deployed: Deployment) -> tuple[Stranger, dict[str, str], int]:
    """All texts in one document, indexed."""
    stranger = Stranger.new(deployed)
    document = TEXTS | BLANK
    table_id = stranger.table(document)
    assert stranger.get(table_id).json == document
    return stranger, document, stranger.tool(table_id)


def test_every_text_is_indexed_and_a_blank_one_has_no_chunks(
    library: tuple[Stranger, dict[str, str], int],
) -> None:
    stranger, document, tool_id = library
    state = stranger.state(tool_id)
    assert (state["status"], state["nodes"]) == ("ready", {"indexed": len(document)})
    counts = dict(
        stranger.deployed.sql(
            "SELECT json_pointer, chunks_count FROM chunk_set JOIN node ON node.id = node_id"
            " WHERE table_id = (SELECT table_id FROM tool WHERE id = :tool)",
            tool=tool_id,
        )
    )
    assert {pointer[1:] for pointer, count in counts.items() if count == 0} == set(BLANK)


def test_chunks_are_slices_in_code_points_that_cover_the_text(
    library: tuple[Stranger, dict[str, str], int],
) -> None:
    stranger, document, tool_id = library
    rows = stranger.deployed.sql(
        "SELECT json_pointer, char_start, char_end, chunk_text FROM chunks"
        " WHERE table_id = (SELECT table_id FROM tool WHERE id = :tool)"
        " ORDER BY json_pointer, chunk_index",
        tool=tool_id,
    )
    reached: dict[str, int] = {}
    for pointer, start, end, text in rows:
        whole = document[pointer[1:]]
        assert whole[start:end] == text
        assert 0 < end - start <= 164  # the size, and at most one cluster more
        assert not whole[reached.get(pointer, 0) : start].strip()
        reached[pointer] = end
    for name in TEXTS:
        assert not document[name][reached[f"/{name}"] :].strip()


@pytest.mark.parametrize("query", ["a\x00", "\ud800"])
def test_a_question_that_is_no_text_is_refused_by_name(
    library: tuple[Stranger, dict[str, str], int], query: str
) -> None:
    stranger, _, tool_id = library
    refused = stranger.ask(tool_id, {"query": query})
    assert (refused.status, refused.code) == (422, "INVALID_DOCUMENT"), refused.text


@pytest.mark.parametrize("query", SOUND_QUERIES, ids=lambda text: text[:12])
def test_a_question_is_text_and_nothing_else(
    library: tuple[Stranger, dict[str, str], int], query: str
) -> None:
    stranger, document, tool_id = library
    before = stranger.deployed.sql("SELECT count(*) FROM node")
    stranger.hits(tool_id, query, document)
    assert stranger.deployed.sql("SELECT count(*) FROM node") == before
