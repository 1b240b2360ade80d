"""Keyword analysis: one pure function for index, query and highlighting.

Any change of the tokens, by code, data or an upgrade of Python or PyStemmer, is a new
``ANALYSIS_VERSION`` (``core/config.py``).
"""

from __future__ import annotations

from context_search.text.analysis.matches import Occurrence, TermFinder, match_spans
from context_search.text.analysis.terms import (
    has_searchable_character,
    is_name,
    query_tokens,
    query_weights,
    tokens,
    with_name,
)

__all__ = [
    "Occurrence",
    "TermFinder",
    "has_searchable_character",
    "is_name",
    "match_spans",
    "query_tokens",
    "query_weights",
    "tokens",
    "with_name",
]
