"""Writes the tables of the HTTP API into docs/: routes, fields of bodies, fields of answers.

    python -m scripts.api_reference

They come from the OpenAPI document, so from the routes and their models, and from template.yaml.
In docs/api.md and docs/mcp.md a table stands between a comment that names it (``routes``,
``arguments``, or ``fields`` with the names of models) and the comment ``end``. The last column of
a table of fields is written by people, and kept. docs/answers.md is written as a whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fastapi.routing import APIRoute

from context_search.agents.tools.search_tools import SEARCH_INPUT_SCHEMA
from context_search.web.callers import INTERNAL_SECRET, opened_by
from context_search.web.openapi import contract, every_router
from local.template import read_template

ROOT = Path(__file__).resolve().parents[1]
API, MCP, ANSWERS = (ROOT / "docs" / name for name in ("api.md", "mcp.md", "answers.md"))
_MARKED = re.compile(
    r"(?<=<!-- )(routes|arguments|fields [\w ]+)( -->\n)(.*?)(?=<!-- end -->)", re.DOTALL
)
_CELL = re.compile(r"(?<!\\)\|")
_MAX_ID = 2**63 - 1
_ORDER = ["search", "manage", "replace", INTERNAL_SECRET]
# What OpenAPI does not describe: another protocol, and the description itself.
_OTHERS = {
    "ANY /mcp": ("key", "[mcp.md](mcp.md)"),
    "ANY /api/v1/mcp/server/{api_key}": ("key in the path", "[mcp.md](mcp.md)"),
    "GET /openapi.json": ("–", "200"),
    "GET /console": ("–", "[console.md](console.md)"),
}
_ANSWERS_BEGIN = """# Answers

`make docs` writes this page: every field of every answer of the [HTTP API](api.md), as the OpenAPI
document has them. What they mean together stands there, beside an example. *Not always*: the field
may be absent.
"""
Schema = Mapping[str, Any]


def written(page: str) -> str:
    """Returns the text of a page with its tables as the code has them now."""
    return _MARKED.sub(
        lambda found: f"{found[1]}{found[2]}{_table(found[1], found[3], page)}", page
    )


def answers_page() -> str:
    """Returns docs/answers.md."""
    named = {name: schema for name, schema in _schemas().items() if name.endswith("Answer")}
    return "".join([_ANSWERS_BEGIN, *(_answer(name, named[name]) for name in sorted(named))])


def bodies() -> set[str]:
    """Returns the names of all models that a request may hold."""
    return {name for name in _schemas() if name.endswith("Body")}


def main() -> None:
    """Writes all pages."""
    for path in (API, MCP):
        path.write_text(written(path.read_text("utf-8")), "utf-8")
    ANSWERS.write_text(answers_page(), "utf-8")


def _schemas() -> Mapping[str, Schema]:
    schemas: Mapping[str, Schema] = contract()["components"]["schemas"]
    return schemas


def _table(what: str, old: str, page: str) -> str:
    if what == "routes":
        return _rows(["route", "function", "opened by", "body", "answer"], _routes(page))
    schemas = _schemas()
    shown = (
        [SEARCH_INPUT_SCHEMA]
        if what == "arguments"
        else [schemas[name] for name in what.split()[1:]]
    )
    return _rows(["field", "value", "default", ""], _fields(shown, _meanings(old)))


def _rows(head: list[str], rows: Iterator[list[str]]) -> str:
    lines = (
        f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in row)}|\n" for row in [head, *rows]
    )
    return next(lines) + "|---" * len(head) + "|\n" + "".join(lines)


def _routes(page: str) -> Iterator[list[str]]:
    sections, functions, credentials = _sections(page), _functions(), _credentials()
    for path, operations in contract()["paths"].items():
        for method, operation in operations.items():
            route = f"{method.upper()} {path}"
            body, answer = _body(operation, sections), _answers(operation)
            yield [f"`{route}`", functions.pop(route), credentials[route] or "–", body, answer]
    for route, function in functions.items():
        shown, answer = _OTHERS[route]
        yield [f"`{route}`", function, shown, "", answer]


def _functions() -> dict[str, str]:
    """The function that the template sends each route to."""
    functions = read_template(ROOT / "template.yaml").functions
    return {route.key: spec.code.name for spec in functions for route in spec.routes}


def _credentials() -> dict[str, str]:
    """What opens each route: the scopes of keys of which one is enough, the secret."""
    return {
        f"{method} {route.path}": " or ".join(sorted(opened_by(route.dependant), key=_ORDER.index))
        for router in every_router()
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }


def _body(operation: Schema, sections: Mapping[str, str]) -> str:
    if "requestBody" not in operation:
        return ""
    schema = _carried(operation["requestBody"])
    for reference in (schema, *schema.get("anyOf", [])):
        if "$ref" in reference:
            name = _name(reference)
            return f"[{name}](#{sections[name]})"
    return "any JSON"


def _answers(operation: Schema) -> str:
    found: list[str] = []
    for status, response in sorted(operation["responses"].items()):
        if status < "3":
            found.append(f"{status} {_link(_carried(response))}".strip())
    return ", ".join(found)


def _carried(content: Schema) -> Schema:
    """The schema of what a request or an answer carries, empty where it carries nothing."""
    kinds: list[Schema] = list(content.get("content", {}).values())
    return kinds[0]["schema"] if kinds else {}


def _link(schema: Schema) -> str:
    name = _name(schema) if "$ref" in schema else ""
    return f"[{name}](answers.md#{name.lower()})" if name else ""


def _name(reference: Schema) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def _sections(page: str) -> dict[str, str]:
    """The anchor of the section that has the fields of each body."""
    anchor, found = "", dict[str, str]()
    for line in page.splitlines():
        if heading := re.match(r"##+ (.*)", line):
            anchor = re.sub(r"[^\w -]", "", heading[1]).strip().lower().replace(" ", "-")
        elif marked := re.match(r"<!-- fields ([\w ]+) -->", line):
            found |= dict.fromkeys(marked[1].split(), anchor)
    return found


def _meanings(old: str) -> dict[str, str]:
    """What people wrote behind each field of the table that is there."""
    cells = [[cell.strip() for cell in _CELL.split(line)] for line in old.splitlines()]
    return {row[1]: row[-2] for row in cells if len(row) > 3}


def _fields(schemas: list[Schema], meanings: Mapping[str, str]) -> Iterator[list[str]]:
    """Several models make one table where what they share is the same."""
    rows: dict[str, list[str]] = {}
    for schema in schemas:
        for name, field in schema["properties"].items():
            row = [_value(field), _default(name, field, schema)]
            if rows.setdefault(name, row) != row:
                raise ValueError(f"{name} differs: give {schema.get('title')} a table of its own")
    for name, row in rows.items():
        yield [f"`{name}`", *row, meanings.get(f"`{name}`", "")]


def _default(name: str, field: Schema, schema: Schema) -> str:
    if name in schema.get("required", []):
        return "required"
    if "default" not in field:
        return "–"
    default = field["default"]
    return f"`{default}`" if isinstance(default, str) and default else f"`{json.dumps(default)}`"


def _answer(name: str, schema: Schema) -> str:
    text = " ".join(schema.get("description", "").replace("``", "`").split())
    rows = (
        [f"`{field}`", _value(shown), _remark(field, shown, schema)]
        for field, shown in schema.get("properties", {}).items()
    )
    table = _rows(["field", "value", ""], rows) if "properties" in schema else ""
    return f"\n## {name}\n\n{text}\n" + (f"\n{table}" if table else "")


def _remark(name: str, field: Schema, schema: Schema) -> str:
    remarks = [] if name in schema.get("required", []) else ["*Not always.*"]
    return " ".join([*remarks, field.get("description", "")]).strip()


def _value(schema: Schema) -> str:
    """What a field may hold, in words."""
    if "$ref" in schema:
        name = _name(schema)
        return "object" if name.endswith("Body") else f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_value(one) for one in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{one}`" for one in schema.get("enum", [schema.get("const")]))
    kinds = {
        "null": _null,
        "boolean": _boolean,
        "integer": _number,
        "number": _number,
        "string": _text,
        "array": _list,
        "object": _object,
    }
    return kinds[schema["type"]](schema) if "type" in schema else "any JSON"


def _null(_: Schema) -> str:
    return "`null`"


def _boolean(_: Schema) -> str:
    return "`true`, `false`"


def _number(schema: Schema) -> str:
    least, most, kind = schema.get("minimum"), schema.get("maximum"), schema["type"]
    if least == 1 and most == _MAX_ID:
        return "id"
    if least is None:
        return str(kind)
    if most is None or most == _MAX_ID:
        return f"{kind} from {least:g}"
    bounds = f"{least:g} to {int(most):,}"
    return bounds if kind == "integer" else f"{kind}, {bounds}"


def _text(schema: Schema) -> str:
    if schema.get("format") == "date-time":
        return "time"
    kind = "JSON pointer" if schema.get("pattern", "").startswith("^(/(") else "text"
    if "maxLength" not in schema:
        return kind
    return f"{kind}, {_bounds(schema.get('minLength'), schema['maxLength'])} characters"


def _list(schema: Schema) -> str:
    count = (
        f", {_bounds(schema.get('minItems'), schema['maxItems'])}" if "maxItems" in schema else ""
    )
    return f"list{count}: {_value(schema['items'])}"


def _object(schema: Schema) -> str:
    members = schema.get("additionalProperties")
    if not isinstance(members, Mapping):
        return "object"
    names = schema.get("propertyNames", {}).get("enum", [])
    keys = f" by {', '.join(f'`{name}`' for name in names)}" if names else ""
    return f"object of {_value(members)}{keys}"


def _bounds(least: int | None, most: int) -> str:
    return f"{least} to {most:,}" if least else f"up to {most:,}"


if __name__ == "__main__":
    main()
