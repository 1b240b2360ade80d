"""Windows: the pieces of a chunk that get a vector each, where a chunk is too long for one."""

from __future__ import annotations

import math

from context_search.domain.text.chunking import chunk_spans

_CHARS_PER_LATIN_TOKEN = 4.0
_SMALLEST_WINDOW_CHARS = 20


def window_texts(text: str, tokens_per_window: int) -> list[str]:
    """Returns the pieces of ``text`` to embed, in order; with 0 tokens, the text itself.

    Tokens are estimated: a character of a script without spaces counts one, four others count
    one. The pieces do not overlap, are cut at the best boundaries, and together are the whole text.
    """
    if tokens_per_window == 0:
        return [text]
    tokens = estimated_tokens(text)
    count = math.ceil(tokens / tokens_per_window)
    size = max(_SMALLEST_WINDOW_CHARS, math.ceil(len(text) / max(1, count)))
    spans = chunk_spans(text, size=size, overlap=0, packed=False)
    return [text[span.start : span.end] for span in spans] or [text]


def estimated_tokens(text: str) -> int:
    """Returns about how many tokens a multilingual model sees in ``text``.

    >>> estimated_tokens("four words of text"), estimated_tokens("四个汉字")
    (5, 4)
    """
    wide = sum(character >= "\u2e80" for character in text)
    return math.ceil(wide + (len(text) - wide) / _CHARS_PER_LATIN_TOKEN)
