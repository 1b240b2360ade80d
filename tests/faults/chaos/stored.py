"""What turbopuffer holds, read through its SDK alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turbopuffer import DefaultHttpxClient, NotFoundError, Turbopuffer

from tests.contract.turbopuffer.targets import LOCAL_URL
from tests.faults.chaos.parts import KEY

PAGE = 1_000


def _client(url: str) -> Turbopuffer:
    """A client that reads no certificates, which take 50 ms: the server is local."""
    return Turbopuffer(
        api_key=KEY,
        base_url=LOCAL_URL,
        region=url.removeprefix("http://"),
        http_client=DefaultHttpxClient(verify=False),
    )


def documents(url: str, namespace: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every document of a namespace by id, with all that it holds."""
    with _client(url) as client:
        after = ""
        while True:
            try:
                reply = client.namespace(namespace).query(
                    rank_by=("id", "asc"),
                    filters=("id", "Gt", after),
                    limit=PAGE,
                    include_attributes=True,
                )
            except NotFoundError:
                return
            for row in reply.rows or []:
                yield str(row.id), _as_document(row.model_dump())
            if len(reply.rows or []) < PAGE:
                return
            after = str((reply.rows or [])[-1].id)


def _as_document(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "table_id": row["table_id"],
        "json_pointer": row["json_pointer"],
        "vector": [round(number, 5) for number in row["vector"]],
        "content": row.get("content"),
        "ancestors": sorted(row["ancestors"]),
        "chunk_id": row["chunk_id"],
        "chunk_of": ".".join(str(row["id"]).split(".")[:5]),
    }


def namespaces(url: str) -> set[str]:
    """What turbopuffer has, by name."""
    with _client(url) as client:
        return {str(each.id) for each in client.namespaces()}
