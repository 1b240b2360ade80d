"""The faults of the local server, and what the SDK makes of them."""

from __future__ import annotations

import pytest
from turbopuffer import (
    APIConnectionError,
    ConflictError,
    InternalServerError,
    RateLimitError,
    Turbopuffer,
)

from tests.contract.turbopuffer.faulty import Faults
from tests.contract.turbopuffer.targets import LocalServer, body_of, connected, ids, named, upsert

ORDER = ("id", "asc")


@pytest.mark.parametrize("kind", ["429", "409", "503", "drop", "drop_after"])
@pytest.mark.parametrize("operation", ["write", "query"])
def test_the_sdk_tries_again_and_succeeds(
    local_client: Turbopuffer, faults: Faults, kind: str, operation: str
) -> None:
    namespace = named(local_client, f"retried-{kind}-{operation}")
    upsert(namespace, {"id": "1"})
    faults.arm(kind, on=operation, count=1)
    if operation == "write":
        answer = namespace.with_raw_response.write(**body_of({"id": "2"}))
    else:
        answer = namespace.with_raw_response.query(rank_by=ORDER, limit=9)
    assert answer.retries_taken == 1
    assert faults.armed() == []
    expected = ["1", "2"] if operation == "write" else ["1"]
    assert ids(namespace.query(rank_by=ORDER, limit=9)) == expected


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("429", RateLimitError),
        ("409", ConflictError),
        ("503", InternalServerError),
        ("drop", APIConnectionError),
        ("drop_after", APIConnectionError),
    ],
)
def test_without_tries_left_the_fault_is_seen(
    impatient_client: Turbopuffer, faults: Faults, kind: str, error: type[Exception]
) -> None:
    namespace = named(impatient_client, "unretried")
    faults.arm(kind, on="write")
    with pytest.raises(error):
        upsert(namespace, {"id": "1"})


def test_a_fault_strikes_as_often_as_it_is_armed_for(
    local_server: LocalServer, faults: Faults
) -> None:
    faults.arm("503", count=3)
    with connected(local_server, max_retries=1) as client:
        namespace = named(client, "exhausted")
        with pytest.raises(InternalServerError):
            upsert(namespace, {"id": "1"})
        assert faults.armed()[0]["count"] == 1
        assert namespace.with_raw_response.write(**body_of({"id": "1"})).retries_taken == 1


@pytest.mark.parametrize("retry_after", [None, 0.05])
def test_429_says_when_to_come_back_if_told_so(
    impatient_client: Turbopuffer, faults: Faults, retry_after: float | None
) -> None:
    faults.arm("429", retry_after=retry_after)
    with pytest.raises(RateLimitError) as refusal:
        upsert(named(impatient_client, "throttled"), {"id": "1"})
    expected = None if retry_after is None else "0.05"
    assert refusal.value.response.headers.get("retry-after") == expected


def test_a_lost_answer_is_not_a_lost_write(impatient_client: Turbopuffer, faults: Faults) -> None:
    namespace = named(impatient_client, "lost-answer")
    faults.arm("drop_after", on="write")
    with pytest.raises(APIConnectionError):
        upsert(namespace, {"id": "1"})
    assert ids(namespace.query(rank_by=ORDER, limit=9)) == ["1"]


def test_a_broken_connection_before_the_write_leaves_nothing(
    impatient_client: Turbopuffer, faults: Faults
) -> None:
    namespace = named(impatient_client, "never-written")
    faults.arm("drop", on="write")
    with pytest.raises(APIConnectionError):
        upsert(namespace, {"id": "1"})
    assert not namespace.exists()


def test_a_slow_answer_runs_into_the_clients_time_out(
    local_client: Turbopuffer, faults: Faults
) -> None:
    namespace = named(local_client, "slow")
    upsert(namespace, {"id": "1"})
    faults.arm("slow", on="query", delay_ms=5_000)
    answer = namespace.with_raw_response.query(rank_by=ORDER, limit=9, timeout=0.5)
    assert answer.retries_taken >= 1


def test_faults_strike_only_what_they_are_meant_for(
    impatient_client: Turbopuffer, faults: Faults
) -> None:
    aimed, other = named(impatient_client, "aimed"), named(impatient_client, "other")
    for namespace in (aimed, other):
        upsert(namespace, {"id": "1"})
    faults.arm("503", namespace="aimed", on="query")
    upsert(aimed, {"id": "2"})
    other.query(rank_by=ORDER, limit=1)
    aimed.schema()
    with pytest.raises(InternalServerError):
        aimed.query(rank_by=ORDER, limit=1)


def test_any_means_every_request(impatient_client: Turbopuffer, faults: Faults) -> None:
    namespace = named(impatient_client, "any")
    upsert(namespace, {"id": "1"})
    faults.arm("503", on="any", namespace="any")
    with pytest.raises(InternalServerError):
        namespace.schema()


def test_armed_faults_are_listed_and_cleared(faults: Faults) -> None:
    faults.arm("slow", count=7, namespace="x", on="query", delay_ms=5)
    (listed,) = faults.armed()
    assert (listed["kind"], listed["count"], listed["namespace"]) == ("slow", 7, "x")
    faults.clear()
    assert faults.armed() == []
