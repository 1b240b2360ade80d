"""JSON Schema of a model for agents: in one piece, without titles and docstrings.

Every word of it is in the context of every agent that lists the tools.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

_NOT_SHOWN = {"title", "default"}


def flat_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Returns the JSON Schema of what a model gives, with every part in its place."""
    schema = model.model_json_schema(mode="serialization")
    return _flat(schema, schema.pop("$defs", {}))


def _flat(part: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    flat = {key: value for key, value in part.items() if key not in _NOT_SHOWN}
    if "$ref" in flat:
        flat = {**_flat(parts[flat.pop("$ref").rpartition("/")[2]], parts), **flat}
    elif "properties" in flat:
        flat.pop("description", None)
        members = flat["properties"].items()
        flat["properties"] = {name: _flat(member, parts) for name, member in members}
    if "items" in flat:
        flat["items"] = _flat(flat["items"], parts)
    return flat
