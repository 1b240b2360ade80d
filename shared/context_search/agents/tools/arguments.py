"""Arguments of tools as models: their schemas, and how a call's are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from context_search.agents.tools.search_tools import given_arguments
from context_search.core.errors import InvalidInputError
from context_search.web.fields import Body

_SHOWN_NAME_CHARS = 64
B = TypeVar("B", bound=Body)


def read_arguments(kind: type[B], arguments: Mapping[str, object]) -> B:
    """Returns arguments, checked; null is left out. Raises InvalidInputError that names the field.

    What was given is not repeated: it may be a document's text.
    """
    try:
        return kind.model_validate(given_arguments(arguments))
    except ValidationError as error:
        [first, *_] = error.errors(include_input=False, include_url=False, include_context=False)
        field = ".".join(str(part) for part in first["loc"])[:_SHOWN_NAME_CHARS]
        raise InvalidInputError(f"{field}: {first['msg']}") from None


def arguments_schema(kind: type[BaseModel]) -> dict[str, Any]:
    """Returns the flat JSON Schema of arguments."""
    schema = kind.model_json_schema()
    properties = {
        name: {key: value for key, value in field.items() if key != "title"}
        for name, field in schema["properties"].items()
    }
    return {
        "type": "object",
        "properties": properties,
        "required": schema.get("required", []),
        "additionalProperties": False,
    }
