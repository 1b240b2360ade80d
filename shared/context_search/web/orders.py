"""What SQS messages say. They hold ids only."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from context_search.domain.errors import InvalidInputError


class _Order(BaseModel):
    """``order`` is the id in the order book; a message of an earlier release has none.

    Fields of a later release are ignored: it has to carry out orders without them as well.
    """

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    order: int | None = None


class NodeOrder(_Order):
    """Index one big string."""

    kind: Literal["node"]
    node_id: int


class NodesOrder(_Order):
    """Index several small strings."""

    kind: Literal["nodes"]
    node_ids: Annotated[list[int], Field(min_length=1, max_length=1_000)]


class EnumerateOrder(_Order):
    """Compare an index with the document of a table, or with whatever it needs."""

    kind: Literal["enumerate"]
    index_id: int
    table_id: int | None = None


class ImportOrder(_Order):
    """Import an uploaded document."""

    kind: Literal["import"]
    upload_id: int


Order = NodeOrder | NodesOrder | EnumerateOrder | ImportOrder
_Orders: TypeAdapter[Order] = TypeAdapter(Annotated[Order, Field(discriminator="kind")])


def order_id_of(body: str) -> int | None:
    """Returns the id in the order book that a message names, whatever else it says."""
    try:
        said = json.loads(body)
    except ValueError:
        return None
    order_id = said.get("order") if isinstance(said, dict) else None
    return order_id if type(order_id) is int and 0 < order_id < 2**63 else None


def parse_order(body: str) -> Order | None:
    """Returns the order of a message; None for one of a kind that only a later release knows.

    Raises InvalidInputError for anything else.
    """
    try:
        return _Orders.validate_json(body)
    except ValidationError as error:
        what = error.errors()[0]["type"]
        if what == "union_tag_invalid":
            return None
        raise InvalidInputError(f"not an order: {what}") from None
