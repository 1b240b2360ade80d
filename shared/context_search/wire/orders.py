"""What SQS messages say. They hold ids only."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from context_search.domain.errors import InvalidInputError


class _Order(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


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


def parse_order(body: str) -> Order:
    """Returns the order of a message. Raises InvalidInputError for anything else."""
    try:
        return _Orders.validate_json(body)
    except ValidationError as error:
        raise InvalidInputError(f"not an order: {error.errors()[0]['type']}") from None
