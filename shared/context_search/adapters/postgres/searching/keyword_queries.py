"""What is in the GIN index for a chunk, and what a question asks of it.

Every lexeme begins with the index's id: words of one index are looked up without reading those of
others. ``7:word`` is a word of index 7, ``7/key`` a pointer that the chunk lies below, ``7#5`` its
table. array_to_tsvector and quoted operands keep them as they are; Postgres parses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from context_search.domain.ids import ancestor_keys, scope_key
from context_search.domain.model import Reach
from context_search.domain.text.keywords import keys, keys_of


def lexemes(index_id: int, table_id: int, json_pointer: str, tokens: Iterable[str]) -> list[str]:
    """Returns the lexemes of a chunk, without positions.

    A token has at most 254 bytes and a chunk 8,000 characters, so the limits of tsvector (2,046
    bytes a lexeme, 1 MB in all) are far away.
    """
    return [
        *(f"{index_id}:{key}" for key in keys(tokens)),
        *(f"{index_id}/{key}" for key in ancestor_keys(json_pointer)),
        f"{index_id}#{table_id}",
    ]


def word_query(index_id: int, word: str) -> str:
    """Returns the tsquery for the chunks that may have a word."""
    return " & ".join(_quoted(f"{index_id}:{key}") for key in keys_of(word))


def narrowed(query: str, index_id: int, reach: Reach) -> str:
    """Returns the same within a reach."""
    parts = [f"({query})"]
    if reach.json_pointer:
        parts.append(_quoted(f"{index_id}/{scope_key(reach.json_pointer)}"))
    if reach.table_ids:
        parts.append(_any_of([f"{index_id}#{table_id}" for table_id in reach.table_ids]))
    return " & ".join(parts)


def _any_of(names: Sequence[str]) -> str:
    return f"({' | '.join(map(_quoted, names))})"


def _quoted(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
