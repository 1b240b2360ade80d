"""Names derived from ids and hashes: short enough, never shared, and readable again."""

from __future__ import annotations

import doctest
import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.core import ids
from context_search.core.ids import (
    ancestor_keys,
    base36,
    first_row_id,
    generation_namespace,
    scope_key,
    table_namespace,
    vector_row_id,
    window_ids,
)
from context_search.core.json_pointer import contains, join

TURBOPUFFER_ID_BYTES = 64
NAMESPACE = re.compile(r"[A-Za-z0-9_.-]{1,128}\Z")
LARGEST_BIGINT = 2**63 - 1
LARGEST_INT = 2**31 - 1
BIGINTS = st.integers(1, LARGEST_BIGINT)
HASH = "0123456789abcdef" * 4


def chunk_id(set_id: int = 1, chunk_index: int = 0, pointer: str = "/a", table_id: int = 1) -> str:
    """A document id of which a test names only what matters."""
    return vector_row_id(
        table_id=table_id,
        json_pointer=pointer,
        content_hash=HASH,
        set_id=set_id,
        chunk_index=chunk_index,
    )


def test_the_examples_of_the_documentation_hold() -> None:
    assert doctest.testmod(ids) == (0, 2)


def test_the_longest_id_fits_turbopuffer_with_its_window_suffix() -> None:
    doc_id = chunk_id(LARGEST_BIGINT, LARGEST_INT, "/文章/0/正文内容" * 1000, LARGEST_BIGINT)
    assert len(doc_id.encode()) == 58
    assert len(window_ids(doc_id, 36)[-1].encode()) == 61 <= TURBOPUFFER_ID_BYTES


@given(BIGINTS, st.integers(0, LARGEST_INT), BIGINTS, st.integers(0, LARGEST_INT))
def test_two_chunks_share_an_id_only_when_they_are_the_same(
    one_set: int, one_index: int, other_set: int, other_index: int
) -> None:
    is_same = (one_set, one_index) == (other_set, other_index)
    assert (chunk_id(one_set, one_index) == chunk_id(other_set, other_index)) == is_same


@pytest.mark.parametrize(
    ("one", "other"), [("/a/b", "/a_b"), ("//a", "/a"), ("", "/root"), ("/a/0", "/a~10")]
)
def test_pointers_that_look_alike_have_different_ids(one: str, other: str) -> None:
    assert chunk_id(pointer=one) != chunk_id(pointer=other)
    assert scope_key(one) != scope_key(other)


@given(BIGINTS, BIGINTS, st.integers(0, LARGEST_INT), st.text(max_size=5), st.integers(1, 40))
def test_every_window_leads_back_to_its_chunk(
    table_id: int, set_id: int, chunk_index: int, key: str, window_count: int
) -> None:
    doc_id = chunk_id(set_id, chunk_index, join([key]), table_id)
    windows = window_ids(doc_id, window_count)
    assert len(set(windows)) == window_count
    assert windows[0] == doc_id
    assert {first_row_id(name) for name in windows} == {doc_id}


def test_a_w_in_front_of_a_number_or_key_is_not_taken_for_a_window() -> None:
    assert base36(32) == "w"
    number_32 = chunk_id(set_id=32, chunk_index=32, table_id=32)
    assert first_row_id(number_32) == number_32
    pointer = next(f"/{n}" for n in range(1000) if ids.pointer_key(f"/{n}").startswith("w"))
    assert first_row_id(chunk_id(pointer=pointer)) == chunk_id(pointer=pointer)


@given(st.integers(0, LARGEST_BIGINT))
def test_base_36_is_what_python_reads_as_base_36(number: int) -> None:
    assert int(base36(number), 36) == number
    assert not base36(number).startswith("0") or number == 0


@given(st.lists(st.text("ab~/", max_size=2), max_size=4), st.lists(st.text("ab~/"), max_size=4))
def test_the_ancestor_keys_of_a_pointer_name_the_scopes_that_contain_it(
    scope: list[str], tokens: list[str]
) -> None:
    is_inside = scope_key(join(scope)) in ancestor_keys(join(tokens))
    assert is_inside == contains(join(scope), join(tokens))


@given(BIGINTS, BIGINTS, BIGINTS, st.integers(1, LARGEST_INT))
def test_namespaces_are_legal_and_each_generation_has_its_own(
    project_id: int, table_id: int, index_id: int, number: int
) -> None:
    first = table_namespace("0123456789", project_id=project_id, table_id=table_id)
    assert first == f"0123456789_project_{project_id}_table_{table_id}"
    of_index = partial(
        generation_namespace, project_id=project_id, table_id=table_id, index_id=index_id
    )
    names = {
        first,
        of_index("0123456789", number=number),
        of_index("0123456789", number=number + 1),
        of_index("abcdefghij", number=number),
    }
    assert len(names) == 4
    assert all(NAMESPACE.match(name) for name in names)
