"""Schemathesis' check that valid requests are accepted, less what JSON Schema cannot say."""

from __future__ import annotations

from typing import Any

import schemathesis
from schemathesis.specs.openapi.checks import positive_data_acceptance

# What a refusal says -> why no schema can say it.
BEYOND_JSON_SCHEMA = {
    "no letter and no number": "letters and numbers of all scripts are no portable pattern",
    "chunk_overlap must be at most half": "a bound that is another field's value",
    "must not both be 0": "two fields together",
    "say the same thing": "an older word for a field: either, not both",
    "name two different scopes": "an older word for a field: either, or both alike",
    "control or invisible character": "classes of Unicode are no portable pattern",
    "Input should be a valid integer": "2.0 is an integer to JSON Schema, and none here",
    "out of range": "a double that JSON can write and no double can hold",
}


@schemathesis.check
def valid_requests_are_accepted(ctx: Any, response: Any, case: Any) -> bool | None:
    """Fails on a valid request that is refused for another reason than those listed."""
    if response.status_code == 422 and any(part in response.text for part in BEYOND_JSON_SCHEMA):
        return None
    accepted: bool | None = positive_data_acceptance(ctx, response, case)
    return accepted
