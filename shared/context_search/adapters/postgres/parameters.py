"""Values on their way into a statement: refused here when Postgres or pg8000 would choke on them.

What fails while pg8000 sends leaves the connection out of step, so it is found before.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from context_search.domain.errors import InvalidDocumentError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def check_parameters(parameters: Mapping[str, object]) -> None:
    """Raises InvalidInputError for text with NUL or a lone surrogate, also inside of lists."""
    for name, value in parameters.items():
        _check(name, value)


def json_text(value: object) -> str:
    """Returns compact JSON for a ``json`` or ``jsonb`` parameter.

    Raises InvalidDocumentError for NUL, NaN, infinity, integers of more than 4,300 digits and
    nesting beyond the interpreter's limit. Lone surrogates are found when the text is sent.
    """
    try:
        text = _ENCODER.encode(value)
    except (ValueError, RecursionError):
        raise InvalidDocumentError("a value cannot be written as JSON") from None
    if "\\u0000" in text and _ESCAPED_NUL.search(text):
        raise InvalidDocumentError("a JSON string holds the character U+0000")
    return text


def _check(name: str, value: object) -> None:
    if isinstance(value, str):
        _check_text(name, value)
    elif isinstance(value, list | tuple):
        for item in value:
            _check(name, item)
    elif isinstance(value, dict):
        # pg8000 would write it with json.dumps, which lets NaN through.
        raise TypeError(f"parameter {name}: pass JSON as json_text(value)")


def _check_text(name: str, text: str) -> None:
    if "\x00" in text:
        raise InvalidInputError(f"{name} holds the character U+0000")
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInputError(f"{name} holds a lone surrogate") from None
