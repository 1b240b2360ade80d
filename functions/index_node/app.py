"""Orders from SQS: index strings, compare an index with its table, import a document."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext

from context_search.bootstrap import parts
from context_search.domain.errors import ContextSearchError, InvalidInputError
from context_search.ports.time import Deadline
from context_search.services.indexing.order_book import Begun
from context_search.services.indexing.retrying import RetryLater
from context_search.web.errors import log_text
from context_search.web.logs import function_logger
from context_search.web.metrics import emit_error, emit_node, emit_queue_age
from context_search.web.orders import (
    EnumerateOrder,
    ImportOrder,
    NodeOrder,
    Order,
    order_id_of,
    parse_order,
)

logger = function_logger("index-node")
RETRY_S = 30.0
UNEXPECTED_S = 600.0
UNKNOWN_KIND_S = 60.0


@logger.inject_lambda_context(clear_state=True)
def lambda_handler(event: dict[str, Any], context: LambdaContext) -> Any:
    """Carries out a batch of orders and reports those that have to come again."""
    processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)

    def carry_out(record: SQSRecord) -> None:
        _carry_out(record, context)

    return process_partial_response(event, carry_out, processor, context)


def _carry_out(record: SQSRecord, context: LambdaContext) -> None:
    if sent_ms := record.attributes.get("SentTimestamp"):
        emit_queue_age(parts().clock.now().timestamp() - float(sent_ms) / 1000)
    try:
        order = parse_order(record.body)
    except InvalidInputError as error:
        logger.error("order refused", extra={"code": error.code, "detail": error.message})
        emit_error(error)
        _put_off(record, UNEXPECTED_S, error)
        return
    if order is None:
        _leave_to_later_release(record)
    else:
        _obey_once(order, record, parts().deadline(context))


def _leave_to_later_release(record: SQSRecord) -> None:
    """Later each time: the queue gives a message up after 20 receives, which are hours so."""
    receives = int(record.attributes.get("ApproximateReceiveCount") or 1)
    if receives == 1:
        logger.error("order of a later release", extra={"message_id": record.message_id})
    error = InvalidInputError("an order of a later release")
    _put_off(record, UNKNOWN_KIND_S * receives, error)


def _put_off(record: SQSRecord, after_s: float, error: ContextSearchError) -> None:
    """What cannot be carried out takes no place among its project's orders meanwhile."""
    begun = None
    with suppress(ContextSearchError):
        begun = parts().order_book.begin(order_id_of(record.body))
    if _comes_back(record, begun, after_s):
        raise error


def _obey_once(order: Order, record: SQSRecord, deadline: Deadline) -> None:
    """Carries out an order that is in the book, and crosses it out."""
    book, begun = parts().order_book, None
    try:
        begun = book.begin(order.order)
        if begun is None:
            logger.info("done before", extra={"kind": order.kind})
            return
        _obey(order, deadline)
        book.finish(begun)
    except RetryLater as later:
        if later.report:
            emit_node(later.report)
        if _comes_back(record, begun, later.after_s):
            raise
    except ContextSearchError as error:
        logger.warning("order failed", extra={"code": error.code, "detail": error.message})
        emit_error(error)
        if _comes_back(record, begun, error.retry_after_s or RETRY_S):
            raise
    except Exception as error:
        # The batch processor reports the message and keeps the reason to itself.
        logger.error("unexpected error", extra={"trace": log_text(error)})
        emit_error(ContextSearchError())
        if _comes_back(record, begun, UNEXPECTED_S):
            raise


def _comes_back(record: SQSRecord, begun: Begun | None, after_s: float) -> bool:
    """Puts an order off; False when the book sends it again, without this message."""
    if begun is not None:
        with suppress(ContextSearchError):
            if not parts().order_book.rest(begun, after_s):
                return False
    parts().queue.come_back(record.receipt_handle, after_s)
    return True


def _obey(order: Order, deadline: Deadline) -> None:
    if isinstance(order, EnumerateOrder):
        parts().enumerate_index(order.index_id, order.table_id)
        logger.info("enumerated", extra={"index_id": order.index_id})
        return
    if isinstance(order, ImportOrder):
        outcome = parts().import_document(order.upload_id)
        logger.info("import", extra={"upload_id": order.upload_id, "outcome": outcome})
        return
    if isinstance(order, NodeOrder):
        report = parts().index_node(order.node_id, deadline)
        emit_node(report)
        logger.info("node", extra={"node_id": order.node_id, "outcome": report.outcome})
        return
    for report in parts().index_nodes(order.node_ids, deadline):
        emit_node(report)
    logger.info("nodes", extra={"nodes": len(order.node_ids)})
