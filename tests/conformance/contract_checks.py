"""Schemathesis' check that valid requests are accepted, less what JSON Schema cannot say."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import schemathesis
from schemathesis import GenerationMode
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
    "holds the character U+0000": "no string of a body may, however deep",
    "the cursor is older": "a cursor comes from an earlier answer",
    "out of range": "a double that JSON can write and no double can hold",
    '"code":"FILTER_INVALID"': "a filter is of the tool's own fields, which are no keywords",
    '"code":"CURSOR_INVALID"': "a cursor comes from an earlier answer, and is no number",
    '"code":"NOT_A_STRING"': "what lies at a place is the document's",
    '"code":"INDEX_SETTING_FIXED"': "settings that make an index are taken as the tool has them",
    "characters behind start": "a bound that is another field's value",
    '"detail":"line ': "lines of JSON in one text",
    "this is no cite": "a cite comes from an earlier answer",
    "collection: unknown name": "which there are is the project's",
    "give cite, or collection and pointer": "fields together",
    "give text or pattern": "two fields, one of which is given",
    '"field":"body.url_template"': "an address with placeholders is no portable pattern",
    "give collection with pointer": "fields together",
    "start: the string has": "how long a string is is the document's",
    '"code":"PATTERN_INVALID"': "the language of RE2",
    '"code":"PATTERN_TOO_COMPLEX"': "the language of RE2",
    "the reranking models of this deployment": "which there are is the deployment's",
}


_KEY = "idempotency-key"
_TAG = "if-match"
KEPT_KEY_ID = int(Path("kept-key").read_text())


_numbers = itertools.count()


@schemathesis.hook
def before_load_schema(_: Any, raw_schema: dict[str, Any]) -> None:
    """Clients are to expect further members in answers; here one that no schema names is wrong."""
    for name, schema in raw_schema["components"]["schemas"].items():
        if not name.endswith("Body"):
            _close(schema)


def _close(schema: Any) -> None:
    if isinstance(schema, dict):
        if "properties" in schema and "required" in schema:
            schema.setdefault("additionalProperties", False)
        for value in schema.values():
            _close(value)
    elif isinstance(schema, list):
        for value in schema:
            _close(value)


@schemathesis.hook
def filter_path_parameters(_: Any, path_parameters: dict[str, Any] | None) -> bool:
    """The key that this run itself uses is neither revoked nor rotated away."""
    key_id = (path_parameters or {}).get("key_id")
    return key_id not in (KEPT_KEY_ID, str(KEPT_KEY_ID))


@schemathesis.hook
def before_call(_: Any, case: Any, __: Any) -> None:
    """Every good request has an Idempotency-Key of its own: else all but the first are refused.

    And If-Match its quotes, which the shortest value for a header has lost.
    """
    headers = case.headers or {}
    if case.meta.generation.mode is not GenerationMode.POSITIVE:
        return
    if _KEY in headers:
        headers[_KEY] = f"{headers[_KEY][:200]}{next(_numbers)}"
    if _TAG in headers and headers[_TAG].isdecimal():
        headers[_TAG] = f'"{headers[_TAG]}"'


@schemathesis.check
def valid_requests_are_accepted(ctx: Any, response: Any, case: Any) -> bool | None:
    """Fails on a valid request that is refused for another reason than those listed."""
    if response.status_code == 431:  # percent-encoded, a pointer may be too long for API Gateway
        return None
    if response.status_code == 422 and any(part in response.text for part in BEYOND_JSON_SCHEMA):
        return None
    accepted: bool | None = positive_data_acceptance(ctx, response, case)
    return accepted
