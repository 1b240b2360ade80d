"""Messages of the queue: four kinds, ids only, nothing coerced; those of other releases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from context_search.domain.errors import InvalidInputError
from context_search.services.catalog.uploads import import_message
from context_search.services.indexing.outgoing import enumerate_message, node_message
from context_search.web.orders import (
    EnumerateOrder,
    ImportOrder,
    NodeOrder,
    NodesOrder,
    parse_order,
)
from tests.builders import english
from tests.services.house import House


def test_what_is_sent_is_understood() -> None:
    assert parse_order(json.dumps(node_message(7))) == NodeOrder(kind="node", node_id=7)
    assert parse_order(json.dumps(enumerate_message(2**63 - 1))) == EnumerateOrder(
        kind="enumerate", index_id=2**63 - 1
    )
    assert parse_order(json.dumps(enumerate_message(7, 8))) == EnumerateOrder(
        kind="enumerate", index_id=7, table_id=8
    )


RECORDED = json.loads((Path(__file__).parent / "recorded_messages.json").read_text())


@pytest.mark.parametrize("release", ["before the order book", "this release"])
def test_recorded_messages_are_understood_to_the_last_field(release: str) -> None:
    for message in RECORDED[release]:
        order = parse_order(json.dumps(message))
        assert order is not None
        assert order.model_dump(exclude_unset=True) == message


def test_of_an_order_with_fields_of_a_later_release_the_known_ones_count() -> None:
    known = [parse_order(json.dumps(message)) for message in RECORDED["a later release"]]
    assert known == [
        NodeOrder(kind="node", node_id=7, order=51),
        EnumerateOrder(kind="enumerate", index_id=3, table_id=5, order=52),
    ]


def test_an_order_of_a_later_release_is_no_error() -> None:
    kinds = RECORDED["kinds of a later release"]
    assert [parse_order(json.dumps(message)) for message in kinds] == [None, None]


def test_what_is_sent_looks_as_it_was_recorded() -> None:
    house = House()
    house.tool(house.table({"a": english(300)}))
    [message] = house.queue.messages
    recorded = next(each for each in RECORDED["this release"] if each["kind"] == message["kind"])
    assert message.keys() == recorded.keys()


def test_an_import_is_ordered_by_the_id_of_its_upload() -> None:
    assert parse_order(json.dumps(import_message(9))) == ImportOrder(kind="import", upload_id=9)


def test_many_small_strings_come_together_and_none_is_left_out() -> None:
    house = House()
    strings = [english(60, seed) for seed in range(1_234)] + [english(40_000)]
    house.tool(house.table(strings))
    [enumerate_order] = house.queue.messages
    house.queue.messages.clear()
    house.enumerate(int(str(enumerate_order["index_id"])))
    sent = [parse_order(json.dumps(message)) for message in house.queue.messages]
    groups = [order.node_ids for order in sent if isinstance(order, NodesOrder)]
    [alone] = [order.node_id for order in sent if isinstance(order, NodeOrder)]
    assert sorted(len(group) for group in groups) == [234, 500, 500]
    named = sorted([alone, *(node_id for group in groups for node_id in group)])
    assert named == sorted(house.store.rows.nodes)


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
        '{"kind": "node"}',
        '{"node_id": 1}',
        '{"kind": "node", "index_id": 1}',
        '{"kind": "node", "node_id": "1"}',
        '{"kind": "node", "node_id": true}',
        '{"kind": "node", "node_id": 1.0}',
        '{"kind": "node", "node_id": null}',
        '{"kind": "node", "node_id": 1, "order": "2"}',
        '{"kind": "nodes", "node_ids": [1], "order": true}',
        '{"kind": "node", "node_id": NaN}',
        '[{"kind": "node", "node_id": 1}]',
        '{"kind": "node", "node_id": 1} trailing',
        '{"kind": "nodes", "node_id": 1}',
        '{"kind": "import"}',
        '{"kind": "import", "upload_id": "1"}',
        '{"kind": "nodes", "node_ids": []}',
        '{"kind": "nodes", "node_ids": 1}',
        '{"kind": "nodes", "node_ids": [1, "2"]}',
        '{"kind": "nodes", "node_ids": [1, true]}',
        json.dumps({"kind": "nodes", "node_ids": [1] * 1_001}),
    ],
    ids=lambda body: body[:40],
)
def test_anything_else_is_refused(body: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_order(body)


def test_a_refusal_does_not_quote_the_message() -> None:
    with pytest.raises(InvalidInputError) as refusal:
        parse_order('{"kind": "node", "node_id": "canary", "canary": 1}')
    assert "canary" not in refusal.value.message
    assert refusal.value.__cause__ is None
