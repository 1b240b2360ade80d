"""cleanup behind the scheduler's event: it brings back what got lost and removes what is left."""

from __future__ import annotations

from typing import Any

import pytest
from turbopuffer import Turbopuffer

from tests.builders import english
from tests.functions.deployment import CANARY, Deployment

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words", "log")]

DOCUMENT = {"a": f"{CANARY} {english(400)}", "b": english(400, seed=2)}
LONG_AGO = "clock_timestamp() - interval '1 day'"


def run(deployed: Deployment) -> dict[str, Any]:
    """One scheduled run that ends well."""
    report = deployed.clean_up()
    assert report["is_complete"]
    return report


@pytest.fixture
def tool(deployed: Deployment) -> dict[str, Any]:
    """A tool that is indexed, in a deployment with nothing left to do."""
    made = deployed.tool(DOCUMENT)
    deployed.drain()
    run(deployed)
    return made


def grow_old(deployed: Deployment) -> None:
    """As if everything that waits had waited for a day."""
    deployed.sql(f"UPDATE outbox SET created_at = {LONG_AGO}, claimed_until = NULL")
    deployed.sql(f"UPDATE outbox SET sent_at = {LONG_AGO} WHERE sent_at IS NOT NULL")
    deployed.sql(f"UPDATE tombstone SET created_at = {LONG_AGO}")
    deployed.sql(f"UPDATE index_generation SET retired_at = {LONG_AGO} WHERE state = 'retired'")
    deployed.sql(f"UPDATE index_generation SET swept_at = {LONG_AGO}")
    deployed.sql(f"UPDATE node SET next_at = {LONG_AGO} WHERE state = 'queued'")


def test_a_change_by_plain_sql_reaches_the_index(
    deployed: Deployment, tool: dict[str, Any]
) -> None:
    old = deployed.documents(tool["namespace"])
    deployed.sql(
        "UPDATE context_table SET data = jsonb_build_object('c', CAST(:text AS text))"
        " WHERE id = :id",
        text=english(300, seed=7),
        id=tool["table_id"],
    )
    grow_old(deployed)
    assert run(deployed)["messages_relayed"] == 1
    deployed.drain()
    run(deployed)
    grow_old(deployed)
    run(deployed)
    new = deployed.documents(tool["namespace"])
    assert new
    assert set(new).isdisjoint(old)


def test_a_deleted_table_leaves_nothing_behind(deployed: Deployment, tool: dict[str, Any]) -> None:
    path = f"/api/v1/tables/{tool['table_id']}"
    assert deployed.http("DELETE", path, key=tool["key"])["statusCode"] == 204
    report = run(deployed)
    assert report["nodes_removed"] == 2
    assert report["documents_deleted"] > 6
    assert deployed.documents(tool["namespace"]) == []
    grow_old(deployed)
    assert run(deployed)["namespaces_deleted"] >= 1
    assert run(deployed)["namespaces_deleted"] == 0
    for table in ("index_generation WHERE namespace", "tombstone WHERE namespace"):
        name = tool["namespace"]
        assert deployed.sql(f"SELECT * FROM {table} = :name", name=name) == []


def test_a_document_that_nobody_knows_is_deleted_and_the_others_stay(
    deployed: Deployment, tool: dict[str, Any]
) -> None:
    before = deployed.documents(tool["namespace"])
    url = deployed.environment["TURBOPUFFER_BASE_URL"]
    with Turbopuffer(api_key="k", base_url="{region}", region=url) as client:
        client.namespace(tool["namespace"]).write(
            upsert_rows=[{"id": "stranger", "vector": [0.5] * 64}],
            distance_metric="cosine_distance",
        )
    assert len(deployed.documents(tool["namespace"])) == len(before) + 1
    grow_old(deployed)
    assert run(deployed)["orphans_deleted"] == 1
    assert deployed.documents(tool["namespace"]) == before
    grow_old(deployed)
    assert run(deployed)["orphans_deleted"] == 0


def test_a_namespace_that_nobody_knows_is_counted_and_stays(
    deployed: Deployment, tool: dict[str, Any]
) -> None:
    url = deployed.environment["TURBOPUFFER_BASE_URL"]
    with Turbopuffer(api_key="k", base_url="{region}", region=url) as client:
        deployment = tool["namespace"].partition("_")[0]
        name = f"{deployment}_project_987654_table_1"
        stranger = client.namespace(name)
        stranger.write(
            upsert_rows=[{"id": "1", "vector": [0.5]}],
            schema={"vector": {"type": "[1]f32", "ann": True}},
            distance_metric="cosine_distance",
        )
        report = run(deployed)
        assert report["unknown_namespaces"] == 1
        assert report["unknown_examples"] == [name]
        assert stranger.exists()
        stranger.delete_all()
    assert run(deployed)["unknown_namespaces"] == 0


def test_words_of_long_strings_that_lack_few_are_written_in_one_run(
    deployed: Deployment, tool: dict[str, Any]
) -> None:
    [[before]] = deployed.sql("SELECT count(*) FROM chunk_words")
    deployed.sql("UPDATE chunk_set SET chunks_count = 2000, present_count = 2000")  # as if
    deployed.sql("DELETE FROM chunk_words RETURNING 1")
    assert run(deployed)["chunks_keyed"] == before
