"""Messages of the queue: exactly two kinds, ids only, nothing coerced."""

from __future__ import annotations

import json

import pytest

from context_search.domain.errors import InvalidInputError
from context_search.services.outgoing import enumerate_message, node_message
from context_search.wire.orders import EnumerateOrder, NodeOrder, parse_order


def test_what_is_sent_is_understood() -> None:
    assert parse_order(json.dumps(node_message(7))) == NodeOrder(kind="node", node_id=7)
    assert parse_order(json.dumps(enumerate_message(2**63 - 1))) == EnumerateOrder(
        kind="enumerate", index_id=2**63 - 1
    )


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
    ],
)
def test_anything_else_is_refused(body: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_order(body)


def test_a_refusal_does_not_quote_the_message() -> None:
    with pytest.raises(InvalidInputError) as refusal:
        parse_order('{"kind": "canary", "node_id": "canary", "canary": 1}')
    assert "canary" not in refusal.value.message
    assert refusal.value.__cause__ is None
