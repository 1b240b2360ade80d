"""A document of long strings with sentences at known places."""

from __future__ import annotations

from typing import Any

from context_search.core.json_pointer import resolve, split
from tests.builders import chinese, english, planted

COMETS = "The lighthouse keeper counted nine comets over the bay before breakfast."
VIOLIN = "The violin maker varnished his last instrument with honey and walnut oil."
DESERT = "沙漠里的气象员每天记录三次骆驼的脚印。"
WHALE = "船长在冰山旁边听见鲸鱼唱了整整一夜的歌。"
PLACES = {
    COMETS: ("/books/0/text", 7_000),
    VIOLIN: ("/books/1/text", 150_000),
    DESERT: ("/书/沙漠", 9_000),
    WHALE: ("/书/a~1b~0", 61_000),
}
QUESTIONS = {
    COMETS: "Who counted comets at the lighthouse?",
    VIOLIN: "What did the violin maker use as varnish?",
    DESERT: "沙漠气象员记录骆驼脚印",
    WHALE: "谁听见鲸鱼唱歌？",
}


def library(seed: int = 0) -> dict[str, Any]:
    """About 310,000 characters in five long strings, beside short ones."""
    return {
        "books": [
            {"title": "Letters", "text": planted(english(30_000, seed), COMETS, 7_000)},
            {"title": "Crafts", "text": planted(english(200_000, seed + 1), VIOLIN, 150_000)},
        ],
        "书": {
            "沙漠": planted(chinese(12_000, seed), DESERT, 9_000),
            "a/b~": planted(chinese(70_000, seed + 1), WHALE, 61_000),
        },
        "books2": "x" + english(10_000, seed + 2),
        "short": "nothing to index here",
    }


def check_hit(document: object, hit: dict[str, Any], scope: str = "") -> None:
    """A hit is a slice of the document, at the place that it names, by both of its pointers."""
    chunk = hit["chunk"]
    text = resolve(document, split(chunk["json_pointer"]))
    assert isinstance(text, str)
    assert text[chunk["char_start"] : chunk["char_end"]] == chunk["chunk_text"]
    assert chunk["json_pointer"] == scope + hit["json_path"]
    assert 0 <= chunk["chunk_index"] < chunk["total_chunks"]
    assert "stale" not in hit
