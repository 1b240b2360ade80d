"""Search and replace in strings, as ratios to parsing the same document as JSON.

Best of several rounds in which all take turns. Strings with matches are hashed before and after.
What the database takes to give the document is in none of the figures.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from random import Random

from context_search.core.documents import parse_exact
from context_search.integrations.patterns.ports import CompiledPattern
from context_search.integrations.patterns.re2_patterns import Re2Patterns
from context_search_editing.rules.edits import StringEdits, apply_edits, string_hash
from context_search_editing.rules.replacing import (
    Allowance,
    LiteralReplacer,
    PatternReplacer,
    ReplaceRequest,
)
from context_search_editing.rules.template import Template

_ROUNDS = 5
_WORDS = ["hero", "rain", "lamp", "letter", "station", "brother", "仓库", "信封", "铜钥匙", "雨水"]
_MATCH_CHARS = 2_000


def main() -> None:
    """Make two documents, time, print."""
    random = Random(0)
    documents = {
        "30 strings of 100,000": [_text(random, 100_000) for _ in range(30)],
        "30,000 strings of 100": [_text(random, 100) for _ in range(30_000)],
    }
    print(f"{platform.machine()}, {os.cpu_count()} cores; times parsing the document")
    for name, strings in documents.items():
        _compare(name, strings)


def _compare(name: str, strings: list[str]) -> None:
    document = json.dumps(strings, ensure_ascii=False)
    engine = Re2Patterns()
    with ExitStack() as stack:
        rare, often = (
            stack.enter_context(engine.compiled(pattern, case_sensitive=True, timeout_s=30))
            for pattern in ("zeppelin [0-9]+", "(war)(e)house")
        )
        seconds = _best_seconds(
            {
                "parsing": lambda: parse_exact(document),
                "literal, nowhere, in the JSON text": lambda: "zeppelin" in document,
                "literal, nowhere": lambda: _literal(strings, "zeppelin"),
                "literal, nowhere, no case": lambda: _literal(strings, "ZEPPELIN", case=False),
                "literal, some": lambda: _literal(strings, "warehouse"),
                "literal, some, whole words": lambda: _literal(strings, "warehouse", words=True),
                "pattern, nowhere": lambda: _pattern(strings, rare, "$0"),
                "pattern, some": lambda: _pattern(strings, often, "$2$1"),
            }
        )
    print(f"\n{name} characters, {seconds['parsing'] * 1000:.0f} ms")
    for what, best in seconds.items():
        print(f"{what:36} {best / seconds['parsing']:6.2f}")


def _literal(strings: list[str], find: str, *, case: bool = True, words: bool = False) -> int:
    replacer = LiteralReplacer(ReplaceRequest(find, "×", case_sensitive=case, whole_word=words))
    return _hashed(strings, replacer.edits_in(strings, Allowance()))


def _pattern(strings: list[str], pattern: CompiledPattern, replace_with: str) -> int:
    template = Template.read(replace_with, groups=pattern.groups, names=pattern.names)
    replacer = PatternReplacer(ReplaceRequest("", replace_with, regex=True), template)
    matches = pattern.matches(strings, groups=template.groups, text_timeout_s=30)
    return _hashed(strings, replacer.edits_in(strings, matches, Allowance()))


def _hashed(strings: list[str], edited: Iterable[StringEdits]) -> int:
    found = 0
    for text, string in zip(strings, edited, strict=True):
        if string.edits:
            found += len(string.edits)
            string_hash(text)
            string_hash(apply_edits(text, string.edits))
    return found


def _text(random: Random, length: int) -> str:
    """Words, of which one in 2,000 characters is looked for."""
    words = random.choices(_WORDS, k=length // 3)
    for _ in range(
        length // _MATCH_CHARS + (random.random() < length % _MATCH_CHARS / _MATCH_CHARS)
    ):
        words[random.randrange(len(words))] = "warehouse"
    return " ".join(words)[:length]


def _best_seconds(contenders: dict[str, Callable[[], object]]) -> dict[str, float]:
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(_ROUNDS):
        for name, contender in contenders.items():
            began = time.perf_counter()
            contender()
            best[name] = min(best[name], time.perf_counter() - began)
    return best


if __name__ == "__main__":
    main()
