"""Which tokens Postgres can look up, and what it looks up for a word of a question.

Two neighbouring Han characters are a token, but no key: most of a Chinese text's tokens are such
pairs, and indexing them costs six times as much as all the rest (decision 0014). Both characters
are keys; whether they are neighbours is seen in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_HAN_PAIR = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]{2}")


def keys(tokens: Iterable[str]) -> list[str]:
    """Returns the distinct keys of a chunk with these tokens, in their order.

    >>> keys(["北", "京", "北京", "ran", "ran"])
    ['北', '京', 'ran']
    """
    return [token for token in dict.fromkeys(tokens) if not _HAN_PAIR.fullmatch(token)]


def keys_of(word: str) -> list[str]:
    """Returns the keys that every chunk with this token has.

    >>> keys_of("北京"), keys_of("京"), keys_of("ran")
    (['北', '京'], ['京'], ['ran'])
    """
    return list(word) if _HAN_PAIR.fullmatch(word) else [word]
