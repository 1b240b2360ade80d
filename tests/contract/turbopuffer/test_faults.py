"""The faults of the local server, and what the SDK makes of them."""

from __future__ import annotations

import pytest
from turbopuffer import (
    APIConnectionError,
    InternalServerError,
    Turbopuffer,
)

from tests.contract.turbopuffer.faulty import Faults
from tests.contract.turbopuffer.targets import ids, named, upsert

ORDER = ("id", "asc")


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
