"""Bodies that are packed, as the SDK sends and takes them with ``compression=True``."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from tests.contract.turbopuffer.targets import Namespace, Target, body_of, upsert

PACKED = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
ALL: dict[str, Any] = {"rank_by": ["id", "asc"], "limit": 100, "include_attributes": True}


def asked(target: Target, namespace: Namespace, encoding: str, **more: Any) -> Any:
    path = f"/v2/namespaces/{namespace.id}/query"
    return target.post(path, json=ALL | more, headers={"Accept-Encoding": encoding})


def test_an_answer_is_packed_for_who_takes_it(namespace: Namespace, target: Target) -> None:
    upsert(namespace, *({"id": f"{i:02}", "raw": "x" * 100} for i in range(50)))
    packed, plain = (asked(target, namespace, encoding) for encoding in ("gzip", "identity"))
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.json()["rows"] == plain.json()["rows"]
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"])
    assert "content-encoding" not in asked(target, namespace, "gzip", limit=1).headers


def test_a_packed_request_is_read(namespace: Namespace, target: Target) -> None:
    content = gzip.compress(json.dumps(body_of({"id": "1", "n": 7})).encode())
    path = f"/v2/namespaces/{namespace.id}"
    assert target.post(path, content=content, headers=PACKED).status_code == 200
    content = gzip.compress(json.dumps(ALL).encode())
    [row] = target.post(f"{path}/query", content=content, headers=PACKED).json()["rows"]
    assert (row["id"], row["n"]) == ("1", 7)


@pytest.mark.parametrize(
    "content", [b"{}", b"", gzip.compress(b"{}" * 100)[:-9]], ids=["plain", "empty", "cut"]
)
def test_what_is_not_packed_as_it_says_is_refused(
    namespace: Namespace, target: Target, content: bytes
) -> None:
    answer = target.post(f"/v2/namespaces/{namespace.id}", content=content, headers=PACKED)
    target.check_status(answer.status_code, 400)
