"""What the local turbopuffer server bills where a contract test would need gigabytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from local.turbopuffer.billing import queried_bytes
from local.turbopuffer.document_index import DocumentIndex
from local.turbopuffer.documents import DocumentBatch
from local.turbopuffer.schema import Attribute, Schema


def index_of(precision: str) -> DocumentIndex:
    vector = Attribute(f"[100]{precision}", is_filterable=False)
    return DocumentIndex(
        Schema({"vector": vector, "note": Attribute("string", is_filterable=False)})
    )


def batch(**notes: str) -> DocumentBatch:
    attributes: list[dict[str, Any]] = [{"note": note} for note in notes.values()]
    return DocumentBatch(list(notes), attributes, np.ones((len(notes), 100), np.float32))


def test_a_namespace_over_the_least_is_billed_by_its_size_for_each_query() -> None:
    assert queried_bytes(3_000_000_000, 2) == 6_000_000_000


@pytest.mark.parametrize(("precision", "vector_bytes"), [("f32", 400), ("f16", 200)])
def test_the_size_of_a_namespace_follows_what_is_in_it(precision: str, vector_bytes: int) -> None:
    index = index_of(precision)
    index.replace((), batch(a="four", b="x"))
    index.replace((), batch(a="in place of four"))
    assert index.logical_bytes == 2 * vector_bytes + (1 + 16) + (1 + 1)
    index.replace(["a", "unknown"], batch())
    assert index.logical_bytes == vector_bytes + 2
