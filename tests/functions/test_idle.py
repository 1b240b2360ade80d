"""cleanup rests where nothing is due, and says so in one line without a metric."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from context_search.composition.parts import parts
from context_search.postgres.connection import Connection
from context_search.postgres.url import DatabaseUrl
from tests.builders import english
from tests.functions.deployment import Deployment, event
from tests.stack import eventually

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words")]


@pytest.fixture
def sleepy(deployed: Deployment) -> Iterator[Deployment]:
    """A deployment whose database may sleep, with an index and nothing left to do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLEANUP_IDLE_MINUTES", "60")
        deployed.restart()
        deployed.tool({"a": english(400)})
        deployed.drain()
        while deployed.functions["cleanup"].invoke(event("cleanup"))["rests_s"] == 0:
            pass
        yield deployed
    deployed.restart()


def test_a_scheduled_run_rests_and_another_looks(sleepy: Deployment, log: list[str]) -> None:
    log.clear()
    report = sleepy.functions["cleanup"].invoke(event("cleanup"))
    assert report["is_resting"]
    assert 3_000 < report["rests_s"] <= 3_600
    [line] = [json.loads(line) for line in log if line.startswith("{")]
    assert (line["message"], line["service"]) == ("resting", "cleanup")
    report = sleepy.functions["cleanup"].invoke({})
    assert (report["is_resting"], report["errors"]) == (False, [])
    assert report["sweep_round"]["seconds"] == 3_660


def test_a_run_that_rests_does_not_connect(sleepy: Deployment) -> None:
    watch = Connection(DatabaseUrl.parse(parts().settings.database_url))
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    watch.query(f"SELECT pg_terminate_backend(pid) {others}")
    assert eventually(lambda: watch.query(f"SELECT pid {others}").rows == [])
    assert sleepy.functions["cleanup"].invoke(event("cleanup"))["is_resting"]
    assert watch.query(f"SELECT pid {others}").rows == []
    assert sleepy.functions["cleanup"].invoke({})["errors"] == []
    assert len(watch.query(f"SELECT pid {others}").rows) == 1
    watch.close()
