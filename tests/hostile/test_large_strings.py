"""A string of 20 MB, which takes more than one invocation."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from local.invocation import LambdaFunction
from tests.builders import english
from tests.functions.deployment import Deployment
from tests.hostile.stranger import Stranger

pytestmark = [pytest.mark.stack, pytest.mark.slow]

PARTS = 200
PART = english(100_000, 11)
# Lambda's time minus what index_node keeps in reserve (60 s) is what one invocation works for.
WORKS_FOR_S = 2


def marked(number: int) -> str:
    """A hundred thousand characters that say which they are."""
    return f"Warehouse {number} keeps the {number}th harpsichord.\n\n{PART}\n\n"


def index_in_pieces(deployed: Deployment) -> int:
    """Works the queue off with invocations that end early; returns how many it took."""
    whole = deployed.functions["index_node"]
    short = LambdaFunction.load(replace(whole.spec, timeout_s=60 + WORKS_FOR_S))
    deployed.functions["index_node"] = short
    invocations = 0
    try:
        while messages := deployed.receive(1):  # as the template's event source does
            invocations += 1
            assert deployed.index(messages) == set()
            for message in messages:
                deployed.sqs.delete_message(
                    QueueUrl=deployed.environment["QUEUE_URL"],
                    ReceiptHandle=message["ReceiptHandle"],
                )
    finally:
        deployed.functions["index_node"] = whole
    return invocations


def test_a_string_of_20_megabytes_is_indexed_over_several_invocations(stranger: Stranger) -> None:
    deployed = stranger.deployed
    text = "".join(marked(number) for number in range(PARTS))
    document = {"small": english(300), "large": text}
    assert len(text) > 20_000_000
    table_id = stranger.stored(json.dumps(document))
    made = stranger.create_tool(table_id, chunk_size=8_000)
    assert (made.status, made.json["status"]) == (201, "indexing")
    tool_id = made.json["tool_id"]
    assert index_in_pieces(deployed) > 3

    state = stranger.state(tool_id)
    assert (state["status"], state["nodes"]) == ("ready", {"indexed": 2})
    rows = deployed.sql(
        "SELECT char_start, char_end, chunk_text, total_chunks, present, turbopuffer_doc_id"
        " FROM chunks WHERE table_id = :id AND json_pointer = '/large' ORDER BY chunk_index",
        id=table_id,
    )
    assert (rows[0][0], rows[-1][1]) == (0, len(text))
    assert all(after[0] <= before[1] and after[0] > before[0] for before, after in pairwise(rows))
    assert all(text[start:end] == chunk for start, end, chunk, *_ in rows)
    assert {(total, present) for *_, total, present, _ in rows} == {(len(rows), True)}
    stored = set(deployed.documents(stranger.namespace(tool_id)))
    assert {doc_id for *_, doc_id in rows} <= stored
    for number in (0, 99, PARTS - 1):
        [best, *_] = stranger.hits(tool_id, f"warehouse {number} harpsichord", document)
        assert f"Warehouse {number} keeps" in best["chunk"]["chunk_text"]
