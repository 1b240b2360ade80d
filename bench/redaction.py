"""Redaction and token counts on one core: millions of characters per CPU second, best of five."""

from __future__ import annotations

import time
from collections.abc import Callable
from pydoc_data.topics import topics

from bench.analysis import chinese, code, machine
from context_search.integrations.models.tiktoken_counter import TiktokenCounter
from context_search.text.sensitive import find_sensitive
from context_search.text.sensitive.kinds import SENSITIVE_KINDS

_CHUNK = 1_000
_RUNS = 5


def _speed(work: Callable[[str], object], text: str) -> float:
    chunks = [text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK)]
    seconds = []
    for _ in range(_RUNS):
        started = time.process_time()
        for chunk in chunks:
            work(chunk)
        seconds.append(time.process_time() - started)
    return len(text) / min(seconds) / 1e6


def main() -> None:
    """Prints the time of the first count, then a line for each kind of text."""
    print(f"redaction and token counts, chunks of {_CHUNK:,} characters; {machine()}")
    counter = TiktokenCounter()
    started = time.process_time()
    counter.count("the first count loads the vocabulary")
    print(f"  first count {time.process_time() - started:.2f} s")
    texts = {
        "English": "\n".join(topics.values())[:400_000],
        "Chinese": chinese(200_000),
        "code": code(400_000),
        "hostile": "13812345 a@b.c-1 token=" * 10_000,
    }
    for kind, text in texts.items():
        hide = _speed(lambda chunk: find_sensitive(chunk, SENSITIVE_KINDS), text)
        count = _speed(counter.count, text)
        print(f"  {kind:8} redaction {hide:5.1f} M/s   tokens {count:5.1f} M/s")


if __name__ == "__main__":
    main()
