"""The local turbopuffer server, whose faults need no key, is for programs of this machine too."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from tests.contract.turbopuffer.targets import running

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("turbopuffer")) as server:
        yield server.url


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 201),
        ({"Host": "rebound.example"}, 400),
        ({"Origin": "https://page.example", "Content-Type": "text/plain"}, 403),
    ],
)
def test_no_web_page_arms_a_fault(url: str, headers: dict[str, str], status: int) -> None:
    fault = {"kind": "slow", "count": 1, "delay_ms": 0}
    armed = httpx2.post(f"{url}/_admin/faults", json=fault, headers=headers)
    assert armed.status_code == status
    known = httpx2.delete(f"{url}/_admin/faults")
    assert known.json() == {"faults": []}
