"""A function that searches with one pattern: its process starts in the jail as well."""

from __future__ import annotations

from typing import Any

from context_search.integrations.patterns.re2_patterns import Re2Patterns

TIMEOUT_S = 30.0


def lambda_handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Finds ``pattern`` in ``text``."""
    engine = Re2Patterns()
    with engine.compiled(event["pattern"], case_sensitive=True, timeout_s=TIMEOUT_S) as search:
        [found] = search.matches([event["text"]], groups=[], text_timeout_s=TIMEOUT_S)
        matches = [event["text"][start:end] for start, end in found]
    return {"engine": engine.engine, "matches": matches}
