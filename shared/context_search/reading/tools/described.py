"""What the descriptions of reading tools share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_search.agents.tools.arguments import arguments_schema
from context_search.web.fields import Body

MAX_ENUM = 50
"""Number of collections up to which the schema lists their names."""


def arguments_of(body: type[Body], collections: Sequence[str]) -> Mapping[str, object]:
    """Returns the schema of a body's members, flat, with the names of the collections."""
    schema = arguments_schema(body)
    schema["properties"] = {
        name: _one_type(member) for name, member in schema["properties"].items()
    }
    if "collection" in schema["properties"] and 0 < len(collections) <= MAX_ENUM:
        schema["properties"]["collection"]["enum"] = list(collections)
    return schema


def _one_type(member: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the schema of a member without null, which means that it is left out."""
    choices = [each for each in member.get("anyOf", ()) if each.get("type") != "null"]
    if len(choices) != 1:
        return dict(member)
    others = {name: value for name, value in member.items() if name not in ("anyOf", "default")}
    return {**choices[0], **others}
