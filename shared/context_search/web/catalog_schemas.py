"""The schemas of what routes answer about projects, tables and uploads."""

from __future__ import annotations

from collections.abc import Mapping

from context_search.web.shapes import (
    COUNT,
    ID,
    TEXT,
    TIME,
    TRUTH,
    Schema,
    many,
    maybe,
    obj,
    one_of,
)

_UPLOAD = {
    "upload_id": ID,
    "table_id": ID,
    "format": one_of("json", "jsonl"),
    "status": one_of("pending", "importing", "done", "failed"),
    "bytes": maybe(COUNT),
    "revision": maybe(COUNT),
    "last_error": maybe(obj(code=TEXT, message=TEXT, retryable=TRUTH)),
    "created_at": TIME,
}


CATALOG_SCHEMAS: Mapping[str, Schema] = {
    "NewProject": obj(id=ID, name=TEXT, api_key=TEXT),
    # Rows of others may lack a name and times.
    "Table": obj(
        id=ID,
        project_id=ID,
        name=maybe(TEXT),
        description=maybe(TEXT),
        revision=COUNT,
        updated_at=maybe(TIME),
    ),
    "Adoption": obj(
        taken_over=many(obj(tool_id=ID, table_id=ID, json_path=TEXT)),
        not_taken_over=many(obj(tool_id=ID, code=TEXT, reason=TEXT)),
        of_no_project=obj(count=COUNT, tools=many(obj(tool_id=ID, name=maybe(TEXT)))),
        cursor=maybe({"type": "string", "pattern": "^[0-9]+$"}),
    ),
    "Document": {"description": "Any JSON value"},
    "Upload": obj(**_UPLOAD),
    "NewUpload": obj(
        **_UPLOAD,
        url=TEXT,
        method=one_of("PUT"),
        headers={"type": "object", "additionalProperties": TEXT},
        expires_at=TIME,
    ),
}
