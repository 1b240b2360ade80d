"""What an embedded text is known by: every setting of its vectors, and nothing of a release."""

from __future__ import annotations

from dataclasses import replace

from context_search.core.config import IndexConfig
from context_search.indexing.vector_rows import input_hash

CONFIG = IndexConfig("m", 3)


def test_it_is_the_same_in_every_release() -> None:
    """Another hash would embed every text of every deployment anew."""
    half = replace(CONFIG, precision="f16", window_tokens=250)
    assert [input_hash("text", each).hex() for each in (CONFIG, half)] == [
        "1361b10dd88d33afecade569efebd8152b523c0122dce1ac78e3dbb3d3ff678b",
        "b6bd1170faabe644c10ca88af8bb80b946053cbe1ed39301ae8897efa7b1f65d",
    ]


def test_whatever_changes_a_vector_changes_it() -> None:
    others = [
        replace(CONFIG, model="n"),
        replace(CONFIG, dimensions=4),
        replace(CONFIG, precision="f16"),
        replace(CONFIG, window_tokens=250),
    ]
    hashes = {input_hash("text", each) for each in (CONFIG, *others)}
    hashes |= {input_hash("other", CONFIG), input_hash("text", CONFIG, "k")}
    hashes |= {input_hash("text", CONFIG, "l"), input_hash("text", others[2], "k")}
    assert len(hashes) == 9
