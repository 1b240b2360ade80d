"""What the contract suite runs against: the local server as a real process, or the real service."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

import httpx2
import pytest
from turbopuffer import APIStatusError, NotFoundError, Turbopuffer
from turbopuffer.types import (
    NamespaceMultiQueryResponse,
    NamespaceQueryResponse,
    NamespaceSchemaResponse,
    NamespaceWriteResponse,
)

ROOT = Path(__file__).resolve().parents[3]
KEY = "contract-suite"
COSINE = "cosine_distance"
# Each kind of attribute that context-search declares.
SCHEMA: dict[str, Any] = {
    "vector": {"type": "[2]f32", "ann": True},
    "content": {
        "type": "[]string",
        "full_text_search": {"tokenizer": "pre_tokenized_array", "max_token_length": 254},
    },
    "tags": {"type": "[]string", "filterable": True},
    "n": {"type": "int", "filterable": True},
    "at": {"type": "datetime", "filterable": True},
    "raw": {"type": "string", "filterable": False},
}
# With a placeholder: the SDK refuses any other base URL where TURBOPUFFER_REGION is set.
LOCAL_URL = "http://{region}"
SERVICE_URL = "https://{region}.turbopuffer.com"


def real_service() -> tuple[str, str] | None:
    """(key, region) of the real service, when the environment gives both."""
    key = os.environ.get("TURBOPUFFER_API_KEY")  # noqa: TID251  tests have no settings
    region = os.environ.get("TURBOPUFFER_REGION")  # noqa: TID251
    return (key, region) if key and region else None


class Namespace(Protocol):
    """The SDK's namespace, taking any body: its own types know rows of id and vector only."""

    @property
    def id(self) -> str: ...
    def write(self, **body: Any) -> NamespaceWriteResponse: ...
    def query(self, **body: Any) -> NamespaceQueryResponse: ...
    def multi_query(self, **body: Any) -> NamespaceMultiQueryResponse: ...
    def schema(self) -> NamespaceSchemaResponse: ...
    def delete_all(self) -> Any: ...
    def exists(self) -> bool: ...


def named(client: Turbopuffer, name: str) -> Namespace:
    """``client.namespace(name)`` with the looser type."""
    return cast(Namespace, client.namespace(name))


class LocalServer:
    """``python -m local.turbopuffer`` on a free port over ``directory``."""

    def __init__(self, directory: Path) -> None:
        command = [sys.executable, "-m", "local.turbopuffer"]
        self._child = subprocess.Popen(  # noqa: S603  our own program
            [*command, "--data", str(directory)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert self._child.stdout is not None
        self._output = self._child.stdout
        line = self._output.readline()
        if not line:
            self.kill()
            raise RuntimeError("the server ended before it listened")
        self.url = line.split()[-1]
        self.address = self.url.removeprefix("http://")

    def empty(self) -> None:
        """Delete every namespace and disarm every fault."""
        with (
            Turbopuffer(api_key=KEY, base_url=LOCAL_URL, region=self.address) as client,
            httpx2.Client(base_url=self.url) as http,
        ):
            assert http.delete("/_admin/faults").status_code == 200
            for each in list(client.namespaces()):
                client.namespace(each.id).delete_all()

    def kill(self) -> None:
        """End the process as ``kill -9`` does."""
        self._child.kill()
        self._child.wait(10)
        self._output.close()


@contextmanager
def running(directory: Path) -> Iterator[LocalServer]:
    """A server that is gone afterwards, whatever happened."""
    server = LocalServer(directory)
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def connected(server: LocalServer, max_retries: int = 4) -> Iterator[Turbopuffer]:
    """The SDK's client for a local server; closed afterwards."""
    with Turbopuffer(
        api_key=KEY, base_url=LOCAL_URL, region=server.address, max_retries=max_retries, timeout=20
    ) as client:
        yield client


@dataclass(frozen=True)
class Target:
    """One service under test: the SDK's client for it, and bare HTTP with its key."""

    client: Turbopuffer
    http: httpx2.Client
    is_local: bool
    _made: list[str] = field(default_factory=list)

    def namespace(self) -> Namespace:
        """A name nobody uses; deleted at the end of the test."""
        name = f"context-search-contract-{uuid.uuid4().hex[:12]}"
        self._made.append(name)
        return named(self.client, name)

    @contextmanager
    def borrowed(self) -> Iterator[Target]:
        """The same service; the namespaces made through it are deleted at the end."""
        borrowed = Target(self.client, self.http, self.is_local)
        try:
            yield borrowed
        finally:
            for name in borrowed._made:
                with suppress(NotFoundError):
                    self.client.namespace(name).delete_all()

    def refuses(self, call: Callable[[], Any], status: int) -> None:
        """Assert that ``call`` is refused with ``status``; the real service may differ in 4xx."""
        with pytest.raises(APIStatusError) as refusal:
            call()
        self.check_status(refusal.value.status_code, status)

    def check_status(self, actual: int, expected: int) -> None:
        """Assert the status, which for the real service means its class."""
        if self.is_local:
            assert actual == expected
        else:
            assert actual // 100 == expected // 100

    def post(self, path: str, **content: Any) -> httpx2.Response:
        """A request that the SDK would not make."""
        return self.http.post(path, **content)


def body_of(*rows: Mapping[str, Any]) -> dict[str, Any]:
    """A write of documents with SCHEMA; those without a vector get one."""
    return {
        "upsert_rows": [{"vector": [1.0, 0.0], **row} for row in rows],
        "schema": SCHEMA,
        "distance_metric": COSINE,
    }


def upsert(namespace: Namespace, *rows: Mapping[str, Any]) -> NamespaceWriteResponse:
    """Write ``body_of`` the rows."""
    return namespace.write(**body_of(*rows))


def ids(answer: Any) -> list[Any]:
    """The ids of a query's rows (or of one result of a multi-query), in order."""
    return [row.id for row in answer.rows]


def found(namespace: Namespace, filters: Sequence[Any]) -> list[Any]:
    """The ids that match a filter, in order of id."""
    return ids(namespace.query(rank_by=("id", "asc"), limit=100, filters=filters))
