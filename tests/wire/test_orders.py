"""Messages of the queue: exactly four kinds, ids only, nothing coerced."""

from __future__ import annotations

import json

import pytest

from context_search.domain.errors import InvalidInputError
from context_search.services.outgoing import enumerate_message, node_message, node_orders
from context_search.services.uploads import import_message
from context_search.wire.orders import (
    EnumerateOrder,
    ImportOrder,
    NodeOrder,
    NodesOrder,
    parse_order,
)
from tests.steps import SMALL


def test_what_is_sent_is_understood() -> None:
    assert parse_order(json.dumps(node_message(7))) == NodeOrder(kind="node", node_id=7)
    assert parse_order(json.dumps(enumerate_message(2**63 - 1))) == EnumerateOrder(
        kind="enumerate", index_id=2**63 - 1
    )
    assert parse_order(json.dumps(enumerate_message(7, 8))) == EnumerateOrder(
        kind="enumerate", index_id=7, table_id=8
    )


def test_an_import_is_ordered_by_the_id_of_its_upload() -> None:
    assert parse_order(json.dumps(import_message(9))) == ImportOrder(kind="import", upload_id=9)


def test_many_small_strings_come_together_and_none_is_left_out() -> None:
    sent = [parse_order(json.dumps(message)) for message in node_orders(range(1_234), SMALL)]
    groups = [order.node_ids for order in sent if isinstance(order, NodesOrder)]
    assert len(groups) == len(sent)
    assert [node_id for group in groups for node_id in group] == list(range(1_234))


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
        '{"kind": "unknown", "node_id": 1}',
        '{"kind": "NODE", "node_id": 1}',
        '{"kind": "node", "index_id": 1}',
        '{"kind": "node", "node_id": "1"}',
        '{"kind": "node", "node_id": true}',
        '{"kind": "node", "node_id": 1.0}',
        '{"kind": "node", "node_id": null}',
        '{"kind": "node", "node_id": 1, "text": "x"}',
        '{"kind": "node", "node_id": NaN}',
        '[{"kind": "node", "node_id": 1}]',
        '{"kind": "node", "node_id": 1} trailing',
        '{"kind": ["node"], "node_id": 1}',
        '{"kind": "nodes", "node_id": 1}',
        '{"kind": "import"}',
        '{"kind": "import", "upload_id": "1"}',
        '{"kind": "import", "upload_id": 1, "key": "uploads/1/1"}',
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
        parse_order('{"kind": "canary", "node_id": "canary", "canary": 1}')
    assert "canary" not in refusal.value.message
    assert refusal.value.__cause__ is None
