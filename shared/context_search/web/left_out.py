"""Fields that may be left out, but not be null."""

from __future__ import annotations

from pydantic import BeforeValidator
from pydantic.json_schema import SkipJsonSchema


def _given(value: object) -> object:
    if value is None:
        raise ValueError("Input should not be null: leave the field out")
    return value


LeftOut = SkipJsonSchema[None]
"""In the place of None for a field that may be left out and, unlike others, not be null."""

NotNull = BeforeValidator(_given)
"""For a field without which much more is asked for: null could be a mistake of the caller's."""
