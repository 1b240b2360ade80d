"""Keyword analysis: one pure function for index, query and highlighting.

Any change of the tokens, by code, data or an upgrade of Python or PyStemmer, is a new
``ANALYSIS_VERSION``; the version is part of an index's configuration.
"""

from __future__ import annotations

from .highlighting import match_spans
from .term_finder import Occurrence, TermFinder
from .terms import has_searchable_character, query_tokens, query_weights, tokens

ANALYSIS_VERSION = 1

__all__ = [
    "ANALYSIS_VERSION",
    "Occurrence",
    "TermFinder",
    "has_searchable_character",
    "match_spans",
    "query_tokens",
    "query_weights",
    "tokens",
]
