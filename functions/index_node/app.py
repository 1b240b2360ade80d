"""Messages from SQS: index strings, compare an index with its table, import a document, go on
with a plan, calibrate an index."""

from __future__ import annotations

from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext

from context_search.composition.index_node import IndexNodeFunction
from context_search.composition.parts import parts
from context_search.core.errors import ContextSearchError, InvalidInputError
from context_search.core.messages import (
    CalibrateIndex,
    CompareIndex,
    ExecutePlan,
    ImportUpload,
    Message,
    read_message,
)
from context_search.indexing.node_report import RetryLater
from context_search.indexing.worker import UNEXPECTED_S, Worker
from context_search.web.logs import function_logger
from context_search.web.metrics import INDEXING, emit_billed, emit_error, emit_node, emit_queue_age
from context_search.web.problems import log_text

logger = function_logger("index-node")
UNKNOWN_KIND_S = 60.0


@cache
def _worker() -> Worker:
    return IndexNodeFunction(parts()).worker


@logger.inject_lambda_context(clear_state=True)
def lambda_handler(event: dict[str, Any], context: LambdaContext) -> Any:
    """Handles a batch of messages and reports those that have to come again."""
    processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)

    def handle(record: SQSRecord) -> None:
        try:
            _handle(record, context)
        finally:
            emit_billed(INDEXING, parts().meter.take())

    return process_partial_response(event, handle, processor, context)


def _handle(record: SQSRecord, context: LambdaContext) -> None:
    if sent_ms := record.attributes.get("SentTimestamp"):
        emit_queue_age(parts().clock.now().timestamp() - float(sent_ms) / 1000)
    try:
        message, message_id = read_message(record.body)
    except InvalidInputError as error:
        logger.error("order refused", extra={"code": error.code, "detail": error.message})
        emit_error(error)
        parts().queue.come_back(record.receipt_handle, UNEXPECTED_S)
        raise
    if message is None:
        _leave_to_later_release(record, message_id)
        return
    done = _worker().execute(
        message, parts().deadline(context), message_id=message_id, on_report=emit_node
    )
    _report(message, done.outcome, done.error)
    if done.error is not None and done.again_in_s is not None:
        parts().queue.come_back(record.receipt_handle, done.again_in_s)
        raise done.error


def _leave_to_later_release(record: SQSRecord, message_id: int) -> None:
    """Later each time: the queue gives a message up after 20 receives, which are hours so."""
    receives = int(record.attributes.get("ApproximateReceiveCount") or 1)
    if receives == 1:
        logger.error("order of a later release", extra={"message_id": record.message_id})
    after_s = UNKNOWN_KIND_S * receives
    if _worker().delay(message_id, after_s):
        parts().queue.come_back(record.receipt_handle, after_s)
        raise InvalidInputError("an order of a later release")


def _report(message: Message, outcome: str | None, error: Exception | None) -> None:
    if isinstance(error, ContextSearchError):
        logger.warning("order failed", extra={"code": error.code, "detail": error.message})
        emit_error(error)
    elif error is not None and not isinstance(error, RetryLater):
        # The batch processor reports the message and keeps the reason to itself.
        logger.error("unexpected error", extra={"trace": log_text(error)})
        emit_error(ContextSearchError())
    elif error is None:
        what, named = _named(message)
        logger.info("done before" if outcome is None else what, extra={**named, "outcome": outcome})


def _named(message: Message) -> tuple[str, dict[str, object]]:
    """What was done, and with what; of many nodes only how many they are."""
    if isinstance(message, CompareIndex):
        return "enumerated", {"index_id": message.index_id}
    if isinstance(message, ImportUpload):
        return "import", {"upload_id": message.upload_id}
    if isinstance(message, ExecutePlan):
        return "plan", {"plan_id": message.plan_id}
    if isinstance(message, CalibrateIndex):
        return "calibrate", {"index_id": message.index_id}
    if len(message.node_ids) == 1:
        return "node", {"node_id": message.node_ids[0]}
    return "nodes", {"nodes": len(message.node_ids)}
