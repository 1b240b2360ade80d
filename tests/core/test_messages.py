"""Messages of the queue: ids only, nothing coerced; those of other releases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from context_search.core.errors import InvalidInputError
from context_search.core.messages import (
    CalibrateIndex,
    CompareIndex,
    ExecutePlan,
    ImportUpload,
    IndexNodes,
    Message,
    message_key,
    read_message,
)
from tests.builders import english
from tests.system import System

RECORDED = json.loads((Path(__file__).parent / "recorded_messages.json").read_text())
# Of each release, as its tag names it, and of what comes next.
SENT = [name for name in RECORDED if "later release" not in name]
EVERY_MESSAGE: list[Message] = [
    IndexNodes((7,)),
    IndexNodes((7, 8)),
    CompareIndex(2**63 - 1),
    CompareIndex(7, 8),
    ImportUpload(9),
    ExecutePlan(9),
    CalibrateIndex(7, 8),
]


@pytest.mark.parametrize("message", EVERY_MESSAGE)
def test_what_is_sent_is_understood(message: Message) -> None:
    body = json.dumps({**message.to_json(), "order": 5})
    assert read_message(body) == (message, 5)
    assert message_key(message.to_json()) is not None


@pytest.mark.parametrize("release", SENT)
def test_recorded_messages_are_understood_to_the_last_field(release: str) -> None:
    for body in RECORDED[release]:
        message, message_id = read_message(json.dumps(body))
        assert message is not None
        assert {**message.to_json(), "order": message_id} == body


@pytest.mark.parametrize("message", RECORDED["this release"])
def test_every_order_may_get_fields_and_every_kind_a_successor(message: dict[str, object]) -> None:
    more = json.dumps({**message, "of_a_later_release": {"any": ["value"]}})
    assert read_message(more) == read_message(json.dumps(message))
    successor = json.dumps({**message, "kind": f"{message['kind']}_of_a_later_release"})
    assert read_message(successor) == (None, message["order"])


def test_every_form_of_an_order_is_recorded() -> None:
    forms = {frozenset({*body}) for body in RECORDED["this release"]}
    assert forms == {frozenset({*message.to_json(), "order"}) for message in EVERY_MESSAGE}
    assert {type(message) for message in EVERY_MESSAGE} == set(get_args(Message))


def test_of_an_order_with_fields_of_a_later_release_the_known_ones_count() -> None:
    bodies = [json.dumps(message) for message in RECORDED["a later release"]]
    read = [read_message(body) for body in bodies]
    assert read == [(IndexNodes((7,)), 51), (CompareIndex(3, 5), 52)]


def test_an_order_of_a_later_release_is_no_error() -> None:
    kinds = RECORDED["kinds of a later release"]
    assert [read_message(json.dumps(message)) for message in kinds] == [(None, 61), (None, 62)]


def test_what_is_sent_looks_as_it_was_recorded() -> None:
    system = System()
    system.tool(system.table({"a": english(300)}))
    [message] = system.queue.messages
    recorded = next(each for each in RECORDED["this release"] if each["kind"] == message["kind"])
    assert message.keys() == recorded.keys()


def test_many_small_strings_come_together_and_none_is_left_out() -> None:
    system = System()
    strings = [english(60, seed) for seed in range(1_234)] + [english(40_000)]
    system.tool(system.table(strings))
    [enumerate_order] = system.queue.messages
    system.queue.messages.clear()
    system.enumerate(int(str(enumerate_order["index_id"])))
    sent = [read_message(json.dumps(body)) for body in system.queue.messages]
    named = [message.node_ids for message, _ in sent if isinstance(message, IndexNodes)]
    groups = [each for each in named if len(each) > 1]
    [[alone]] = [each for each in named if len(each) == 1]
    assert sorted(len(group) for group in groups) == [234, 500, 500]
    every = sorted([alone, *(node_id for group in groups for node_id in group)])
    assert every == sorted(system.model_store.rows.nodes)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "null",
        "[]",
        "7",
        '"node"',
        "{",
        "{}",
        '{"kind": "node", "order": 1}',
        '{"node_id": 1}',
        '{"kind": "node", "index_id": 1, "order": 1}',
        '{"kind": "node", "node_id": "1", "order": 1}',
        '{"kind": "node", "node_id": true, "order": 1}',
        '{"kind": "node", "node_id": 1.0, "order": 1}',
        '{"kind": "node", "node_id": null, "order": 1}',
        '{"kind": "node", "node_id": 1}',
        '{"kind": "of a later release"}',
        '{"kind": "node", "node_id": 1, "order": "2"}',
        '{"kind": "nodes", "node_ids": [1], "order": true}',
        '{"kind": "node", "node_id": NaN, "order": 1}',
        '[{"kind": "node", "node_id": 1}]',
        '{"kind": "node", "node_id": 1} trailing',
        '{"kind": "nodes", "node_id": 1, "order": 1}',
        '{"kind": "import", "order": 1}',
        '{"kind": "import", "upload_id": "1", "order": 1}',
        '{"kind": "nodes", "node_ids": [], "order": 1}',
        '{"kind": "nodes", "node_ids": 1, "order": 1}',
        '{"kind": "nodes", "node_ids": [1, "2"], "order": 1}',
        '{"kind": "nodes", "node_ids": [1, true], "order": 1}',
        json.dumps({"kind": "nodes", "node_ids": [1] * 1_001, "order": 1}),
        '{"kind": "node", "node_id": 0, "order": 1}',
        '{"kind": "node", "node_id": 9223372036854775808, "order": 1}',
        '{"kind": 7, "node_id": 1, "order": 1}',
        "[" * 100_000,
        '{"kind": "node", "node_id": ' + "9" * 5_000 + "}",
    ],
    ids=lambda body: body[:40],
)
def test_anything_else_is_refused(body: str) -> None:
    with pytest.raises(InvalidInputError):
        read_message(body)


def test_a_refusal_does_not_quote_the_message() -> None:
    with pytest.raises(InvalidInputError) as refusal:
        read_message('{"kind": "node", "node_id": "canary", "canary": 1}')
    assert "canary" not in refusal.value.message
    assert refusal.value.__cause__ is None
