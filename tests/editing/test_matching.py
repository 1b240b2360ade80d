"""What a request changes in a document, against one string at a time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.core.documents import strings_at
from context_search.core.errors import TooManyMatchesError
from context_search.core.json_pointer import contains, resolve, split
from context_search_editing import matching
from context_search_editing.matching import (
    EditedString,
    edits_of_document,
    json_pieces,
    replacer_of,
)
from context_search_editing.rules.replacing import Allowance, LiteralReplacer, ReplaceRequest
from context_search_editing.write_documents import with_strings
from testing.in_memory.patterns import RePatterns
from tests.text.brute_force import TEXTS

KEYS = st.sampled_from(["a", "ab", "b", "", "~", "/", "0"])
DOCUMENTS: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | st.lists(st.sampled_from(TEXTS), max_size=6).map("".join),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
POINTERS = st.lists(
    st.lists(st.sampled_from(["a", "ab", "b", "~0", "~1", "0", "1", ""]), max_size=3).map(
        lambda tokens: "".join(f"/{token}" for token in tokens)
    ),
    max_size=4,
)


def edited(
    document: object,
    request: ReplaceRequest,
    pointers: Sequence[str] = ("",),
    allowance: Allowance | None = None,
) -> list[EditedString]:
    with replacer_of(request, RePatterns(), text_timeout_s=5) as replacer:
        return list(
            edits_of_document(strings_at(document, pointers), replacer, allowance or Allowance())
        )


@given(DOCUMENTS, POINTERS)
def test_each_string_below_a_pointer_comes_once_in_document_order(
    document: Any, pointers: list[str]
) -> None:
    everything = [*strings_at(document, [""])]
    wanted = [
        (string.json_pointer, string.text)
        for string in everything
        if any(contains(pointer, string.json_pointer) for pointer in pointers)
    ]
    found = [(string.json_pointer, string.text) for string in strings_at(document, pointers)]
    assert found == wanted


def test_positions_count_over_batches() -> None:
    many = matching._BATCH_STRINGS
    document = ["-"] * (many - 1) + ["a", "a"] + ["-" * (1 << 18), "", "a"]
    found = edited(document, ReplaceRequest("a", "b"))
    assert [string.position for string in found] == [many - 1, many, many + 3]
    assert [string.json_pointer for string in found] == [f"/{string.position}" for string in found]


def test_an_allowance_is_for_all_batches_together() -> None:
    document = ["a" + "-" * (1 << 18)] * 3
    with pytest.raises(TooManyMatchesError):
        edited(document, ReplaceRequest("a", "bb"), allowance=Allowance(2))


@pytest.mark.parametrize("seed", range(20))
def test_the_text_of_a_document_with_a_match_has_a_piece(seed: int) -> None:
    random = Random(seed)
    answers = set()
    for _ in range(200):
        texts = ["".join(random.choices([*TEXTS, '"', "\\", "\t"], k=3)) for _ in range(2)]
        request = ReplaceRequest(random.choice([*TEXTS, '"', "\\", "\t", "n"]), "")
        text = json.dumps(texts, ensure_ascii=False)
        has_piece = any(piece in text for piece in json_pieces(request))
        answers.add(has_piece)
        if not has_piece:
            assert not any(map(LiteralReplacer(request).literal.occurs_in, texts))
    assert answers == {True, False}


def test_other_forms_of_a_literal_are_looked_for_as_well() -> None:
    for find, stored in (("é", "cafe\u0301"), ("e\u0301", "caf\u00e9")):
        assert any(piece in stored for piece in json_pieces(ReplaceRequest(find, "")))


@pytest.mark.parametrize("options", [{"regex": True}, {"case_sensitive": False}])
def test_only_literals_as_they_are_can_be_told_from_the_text(options: dict[str, bool]) -> None:
    assert json_pieces(ReplaceRequest('a"', "")) == ('a\\"',)
    assert json_pieces(ReplaceRequest('a"', "", **options)) == ()


@given(DOCUMENTS)
def test_only_the_named_strings_change(document: Any) -> None:
    before = deepcopy(document)
    texts = {
        string.json_pointer: string.text + "!"
        for number, string in enumerate(strings_at(document, [""]))
        if number % 2
    }
    after = with_strings(document, texts)
    assert [(s.json_pointer, s.text) for s in strings_at(after, [""])] == [
        (s.json_pointer, texts.get(s.json_pointer, s.text)) for s in strings_at(before, [""])
    ]
    for pointer in texts:
        assert resolve(after, split(pointer)) == f"{resolve(before, split(pointer))}!"


@pytest.mark.parametrize("pointer", ["/a", "/c", "/b/0/x", "/b/1"])
def test_only_strings_are_exchanged(pointer: str) -> None:
    with pytest.raises(KeyError):
        with_strings({"a": 1, "b": ["x"]}, {pointer: "new"})
