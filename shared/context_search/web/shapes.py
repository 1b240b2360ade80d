"""Words to write JSON Schemas of answers with. An object has all its members, later perhaps more.

``make conformance`` holds the running stack to these members and no others.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
TRUTH: Schema = {"type": "boolean"}
ID: Schema = {"type": "integer", "minimum": 1}
COUNT: Schema = {"type": "integer", "minimum": 0}
TIME: Schema = {"type": "string", "format": "date-time"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
FREE: Schema = {"type": "object"}


def obj(optional: Schema | None = None, /, **members: Schema) -> Schema:
    """An object; ``optional`` members may be absent."""
    return {
        "type": "object",
        "properties": {**members, **(optional or {})},
        "required": list(members),
    }


def many(items: Schema) -> Schema:
    """An array."""
    return {"type": "array", "items": items}


def maybe(schema: Schema) -> Schema:
    """The same or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def one_of(*words: str) -> Schema:
    """One of these words."""
    return {"type": "string", "enum": list(words)}


def ref(name: str) -> Schema:
    """A schema of the document's components."""
    return {"$ref": f"#/components/schemas/{name}"}
