"""A result that clients can take: the last hits go, and are counted."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from context_search.agents.tools.results import (
    MAX_RESULT_BYTES,
    fitted,
    fitted_and_redacted,
    trimmed,
)
from context_search.agents.tools.search_tools import SEARCH_OUTPUT_SCHEMA
from context_search.core.cites import Cite
from context_search.mcp.jsonrpc import to_bytes
from context_search.text.redaction import Excerpt
from context_search.text.sensitive import find_sensitive
from tests.mcp.test_search_schema import ANSWER


def answer_of(*texts: str) -> dict[str, Any]:
    """An answer with a hit for each text."""
    answer = copy.deepcopy(ANSWER)
    (hit,) = answer["results"]
    answer["results"] = [{**hit, "chunk": {**hit["chunk"], "chunk_text": text}} for text in texts]
    return answer


@pytest.mark.parametrize("count", [1, 5])
def test_a_passage_is_cut_in_the_source_and_then_redacted(count: int) -> None:
    source = "mail a@b.co " * 5_500
    answer = answer_of(*[source] * count)
    for number, hit in enumerate(answer["results"]):
        place = {"id": number, "char_start": 0, "char_end": len(source)}
        hit["chunk"] = {**hit["chunk"], **place}
    excerpt = Excerpt(source, 0, tuple(find_sensitive(source, ["email"])))
    cut = fitted_and_redacted(answer, dict.fromkeys(range(count), excerpt))
    jsonschema.Draft202012Validator(SEARCH_OUTPUT_SCHEMA).validate(cut)
    assert len(to_bytes(cut)) <= MAX_RESULT_BYTES
    [shown] = [hit["chunk"] for hit in cut["results"]]
    assert shown["chunk_text"] == excerpt.show(0, shown["char_end"]).text
    assert "a@b.co" not in shown["chunk_text"]
    assert len(shown["chunk_text"]) > MAX_RESULT_BYTES * 0.9


def test_what_fits_is_left_alone() -> None:
    answer = answer_of(*["x" * 1_000] * 20)
    assert fitted(answer) == answer


@pytest.mark.parametrize("text", ["x" * 8_000, "西" * 8_000, "😀" * 4_000, "\x01" * 3_000])
def test_the_last_hits_are_left_out_and_counted(text: str) -> None:
    answer = answer_of(*[text] * 20)
    cut = fitted(answer)
    jsonschema.Draft202012Validator(SEARCH_OUTPUT_SCHEMA).validate(cut)
    assert cut["results"] == answer["results"][: 20 - cut["omitted"]]
    assert len(to_bytes(cut)) <= MAX_RESULT_BYTES < len(to_bytes(answer))
    one_more = {**cut, "results": answer["results"][: 21 - cut["omitted"]]}
    assert len(to_bytes(one_more)) > MAX_RESULT_BYTES - 10


def test_a_smaller_hit_does_not_overtake_a_larger_one() -> None:
    cut = fitted(answer_of("a" * 40_000, "b" * 40_000, "c"))
    assert ([hit["chunk"]["chunk_text"][0] for hit in cut["results"]], cut["omitted"]) == (["a"], 2)


@pytest.mark.parametrize("text", ["西" * 30_000, "😀" * 20_000, "\x01" * 12_000, '"' * 40_000])
def test_of_a_best_hit_that_is_too_long_the_passage_is_cut(text: str) -> None:
    answer = answer_of(text, "b")
    answer["results"][0]["preview"] = text[:8_000]
    cut = fitted(answer)
    jsonschema.Draft202012Validator(SEARCH_OUTPUT_SCHEMA).validate(cut)
    assert MAX_RESULT_BYTES - 10 < len(to_bytes(cut)) <= MAX_RESULT_BYTES
    ([hit], omitted) = cut["results"], cut["omitted"]
    passage, place = hit["chunk"]["chunk_text"], answer["results"][0]["chunk"]["char_start"]
    assert text.startswith(passage)
    assert hit["chunk"]["char_end"] - place == len(passage) > 0
    assert (omitted, "preview" in hit) == (1, False)
    cite = Cite.parse(hit["cite"])
    assert (cite.end - cite.start, cite.is_of(passage)) == (len(passage), True)


def test_a_hit_whose_place_alone_is_too_long_is_left_out_and_counted() -> None:
    answer = answer_of("a", "b")
    answer["results"][0]["chunk"]["json_pointer"] = "/x" * 40_000
    cut = fitted(answer)
    assert (cut["results"], cut["omitted"]) == ([], 2)
    assert len(to_bytes(cut)) <= MAX_RESULT_BYTES


def test_lists_are_cut_in_the_order_they_are_named_and_the_rest_is_left_alone() -> None:
    answer = {"a": ["x" * 100] * 10, "b": ["y" * 100] * 10, "n": "z"}
    size = len(to_bytes(answer))
    assert trimmed(answer, "a", "b", limit=size) == answer
    one_less = trimmed(answer, "a", "b", limit=size - 1)
    assert one_less == {**answer, "a": answer["a"][:9]}
    both = trimmed(answer, "a", "b", limit=size // 2 - 50)
    assert (both["a"], both["n"]) == ([], "z")
    assert 0 < len(both["b"]) < 10
    assert len(to_bytes(both)) <= size // 2 - 50
    assert trimmed(answer, "n", "a", limit=size - 1)["n"] == "z"
