"""Random JSON documents as text, and what a naive writer makes of their strings."""

from __future__ import annotations

import json
from collections.abc import Callable

from hypothesis import strategies as st

NUMBERS = ["0", "-0.0", "1.10", "1e-400", "12345678901234567890.000", "1E+300", "9" * 5_000]
WORDS = ["ab", "a", "b", "X", "林小雨", "😀", "e\u0301", '"', "\\", "\n", "$1", " ", "abab", "é"]
STRINGS = st.lists(st.sampled_from(WORDS), max_size=8).map("".join)
TEXTS = st.recursive(
    st.sampled_from([*NUMBERS, "null", "true"]) | STRINGS.map(json.dumps),
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda parts: f"[{','.join(parts)}]")
        | st.dictionaries(STRINGS, inner, max_size=4).map(
            lambda parts: (
                "{" + ",".join(f"{json.dumps(k)}:{part}" for k, part in parts.items()) + "}"
            )
        )
    ),
    max_leaves=12,
)


def spliced(canonical: str, change: Callable[[str, int], str]) -> str:
    """Returns canonical JSON text with other strings; every other byte is the same.

    It reads no JSON: it looks for quotes. ``change`` is given the value of each string that is no
    key, and how many came before it.
    """
    written, at, number = [], 0, 0
    while (start := canonical.find('"', at)) >= 0:
        end = start + 1
        while canonical[end] != '"':
            end += 2 if canonical[end] == "\\" else 1
        token = canonical[start : end + 1]
        written.append(canonical[at:start])
        at = end + 1
        if canonical.startswith(":", at):
            written.append(token)
            continue
        value = json.loads(token)
        now = change(value, number)
        written.append(token if now == value else json.dumps(now, ensure_ascii=False))
        number += 1
    return "".join(written) + canonical[at:]
