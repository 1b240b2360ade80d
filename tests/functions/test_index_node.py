"""index_node behind SQS: what is done, what comes again, and when."""

from __future__ import annotations

import json
from typing import Any

import pytest

from context_search.core.messages import CompareIndex, IndexNodes
from tests.builders import chinese, english, message_of, until
from tests.functions.deployment import CANARY, Deployment, event, failures

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words", "log")]

DOCUMENT = {"a": f"{CANARY} {english(400)}", "b": chinese(400)}


def nodes(deployed: Deployment, tool: dict[str, Any]) -> list[int]:
    rows = deployed.sql(
        "SELECT node.id FROM node JOIN index_generation ON index_generation.id = generation_id"
        " WHERE namespace = :name ORDER BY node.id",
        name=tool["namespace"],
    )
    return [row[0] for row in rows]


def node(deployed: Deployment, node_id: int, columns: str) -> list[Any]:
    [row] = deployed.sql(f"SELECT {columns} FROM node WHERE id = :id", id=node_id)
    return row


def index_of(deployed: Deployment, tool: dict[str, Any]) -> int:
    [[index_id]] = deployed.sql(
        "SELECT index_id FROM coverage WHERE tool_id = :id", id=tool["tool_id"]
    )
    return int(index_id)


@pytest.fixture
def empty(deployed: Deployment) -> Deployment:
    """The deployment with nothing in its queue, and nothing that waits to be sent there."""
    deployed.sql("DELETE FROM outbox")
    deployed.drain()
    return deployed


def test_a_recorded_message_indexes_its_string(empty: Deployment) -> None:
    tool = empty.tool(DOCUMENT)
    batch = event("index_node")
    for node_id in nodes(empty, tool):
        message = message_of(IndexNodes((node_id,)), empty.sql)
        batch["Records"][0]["body"] = json.dumps(message)
        assert empty.functions["index_node"].invoke(batch) == {"batchItemFailures": []}
    rows = empty.sql(
        "SELECT turbopuffer_doc_id FROM chunks WHERE turbopuffer_namespace = :name AND present",
        name=tool["namespace"],
    )
    assert sorted(row[0] for row in rows) == empty.documents(tool["namespace"])
    assert len(rows) > 6


@pytest.mark.parametrize(
    "body", ["not json", f'{{"kind": "nodes", "node_ids": ["{CANARY}"], "order": 1}}']
)
def test_a_message_nobody_understands_fails_alone(empty: Deployment, body: str) -> None:
    tool = empty.tool(DOCUMENT)
    waiting = empty.receive()
    empty.sqs.send_message(QueueUrl=empty.environment["QUEUE_URL"], MessageBody=body)
    [bad] = empty.receive()
    assert empty.index([waiting[0], bad, *waiting[1:]]) == {bad["MessageId"]}
    assert {node(empty, number, "state")[0] for number in nodes(empty, tool)} == {"indexed"}


def test_an_order_of_a_later_release_waits_for_it_longer_each_time(
    empty: Deployment, log: list[str]
) -> None:
    [message] = empty.send('{"kind": "of a later release", "index_id": 3, "order": 61}')
    log.clear()
    assert empty.index([message]) == {message["MessageId"]}
    assert [json.loads(line)["message"] for line in log if '"ERROR"' in line] == [
        "order of a later release"
    ]
    log.clear()
    message["Attributes"]["ApproximateReceiveCount"] = "2"
    assert empty.index([message]) == {message["MessageId"]}
    assert not [line for line in log if '"ERROR"' in line]
    assert empty.receive() == []


def orders(deployed: Deployment) -> list[list[Any]]:
    return deployed.sql(
        "SELECT key, sent_at IS NOT NULL, begun_at IS NOT NULL, due_at IS NOT NULL FROM outbox"
        " ORDER BY id"
    )


def test_several_strings_in_one_message_are_each_indexed(empty: Deployment) -> None:
    tool = empty.tool([english(100, seed) for seed in range(4)])
    numbers = nodes(empty, tool)
    empty.receive()  # the single messages, which nobody carries out
    late = numbers[1]
    empty.sql(
        "UPDATE node SET next_at = clock_timestamp() + interval '2 s' WHERE id = :id", id=late
    )
    [message] = empty.order(IndexNodes((*numbers, 2**62)))
    assert empty.index([message]) == {message["MessageId"]}
    states = {number: node(empty, number, "state")[0] for number in numbers}
    assert states == {**dict.fromkeys(numbers, "indexed"), late: "queued"}
    assert empty.receive() == []
    # Without the change of visibility it would come after 720 s.
    [again] = until(empty.receive, timeout_s=10)
    assert again["MessageId"] == message["MessageId"]
    assert empty.index([again]) == set()
    assert node(empty, late, "state, attempt") == ["indexed", 0]


def test_a_failing_model_is_asked_again_after_a_pause(empty: Deployment) -> None:
    tool = empty.tool({"a": f"{CANARY} {english(300)}"})
    [message] = empty.receive()
    [node_id] = nodes(empty, tool)
    failures.append(ConnectionError(f"{CANARY} cannot be reached"))
    assert empty.index([message]) == {message["MessageId"]}
    assert orders(empty) == [[f"node:{node_id}", True, True, True]]
    state, attempt, error = node(empty, node_id, "state, attempt, last_error")
    assert (state, attempt) == ("queued", 1)
    report = json.loads(error)
    assert report.keys() == {"code", "message", "retryable", "at"}
    assert (report["code"], report["retryable"]) == ("EMBEDDING_UNAVAILABLE", True)
    assert CANARY not in error
    [again] = until(empty.receive, timeout_s=10)
    assert empty.index([again]) == set()
    assert node(empty, node_id, "state, last_error") == ["indexed", None]
    assert orders(empty) == []


def test_a_document_too_deep_to_read_is_an_error_of_its_index(empty: Deployment) -> None:
    tool = empty.tool(DOCUMENT)
    empty.drain()
    deep = "[" * 15_000 + "]" * 15_000  # which Postgres takes
    empty.sql(
        "UPDATE context_table SET data = CAST(:data AS jsonb) WHERE id = :id",
        data=deep,
        id=tool["table_id"],
    )
    [message] = empty.order(CompareIndex(index_of(empty, tool)))
    assert empty.index([message]) == set()
    reported = empty.search_index(tool)
    assert (reported["status"], reported["nodes"]) == ("error", {})
    assert (reported["last_error"]["code"], reported["last_error"]["retryable"]) == (
        "INVALID_DOCUMENT",
        False,
    )
    empty.sql("UPDATE context_table SET data = '{}' WHERE id = :id", id=tool["table_id"])


def test_what_nobody_expected_fails_alone_and_is_in_the_log(
    empty: Deployment, log: list[str]
) -> None:
    broken, sound = empty.tool(DOCUMENT), empty.tool(DOCUMENT)
    # As after going back from a newer version, whose configurations have more in them.
    empty.sql(
        "UPDATE index_generation SET config = config || '{\"from_the_future\": 1}'"
        " WHERE namespace = :name",
        name=broken["namespace"],
    )
    of_broken = set(nodes(empty, broken))
    messages = empty.receive()
    expected = {
        message["MessageId"]
        for message in messages
        if json.loads(message["Body"])["node_id"] in of_broken
    }
    log.clear()
    assert empty.index(messages) == expected
    assert {node(empty, number, "state")[0] for number in nodes(empty, sound)} == {"indexed"}
    reported = [json.loads(line)["level"] for line in log if line.startswith("{")]
    assert reported.count("ERROR") == len(expected)
    empty.sql("UPDATE index_generation SET config = config - 'from_the_future'")


def test_logs_name_what_was_done_by_ids(empty: Deployment, log: list[str]) -> None:
    tool = empty.tool({"a": f"{CANARY} {english(300)}"})
    [node_id] = nodes(empty, tool)
    log.clear()
    empty.drain()
    [line] = [json.loads(text) for text in log if '"node_id"' in text]
    assert (line["node_id"], line["outcome"], line["level"]) == (node_id, "indexed", "INFO")
    assert line["function_request_id"]
