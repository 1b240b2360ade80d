"""SQS messages as the event a Lambda function gets, and what its answer means.

https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mypy_boto3_sqs.type_defs import MessageAttributeValueOutputTypeDef, MessageTypeDef


def sqs_event(messages: Iterable[MessageTypeDef], queue_arn: str) -> dict[str, Any]:
    """The event of one batch; ``queue_arn`` names the queue and its region."""
    return {"Records": [_record(message, queue_arn) for message in messages]}


def _record(message: MessageTypeDef, queue_arn: str) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": dict(message.get("Attributes", {})),
        "messageAttributes": {
            name: _attribute(value) for name, value in message.get("MessageAttributes", {}).items()
        },
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": queue_arn.split(":")[3],
    }


def _attribute(value: MessageAttributeValueOutputTypeDef) -> dict[str, Any]:
    attribute: dict[str, Any] = {
        "stringListValues": [],
        "binaryListValues": [],
        "dataType": value["DataType"],
    }
    if "StringValue" in value:
        attribute["stringValue"] = value["StringValue"]
    if "BinaryValue" in value:
        attribute["binaryValue"] = base64.b64encode(value["BinaryValue"]).decode("ascii")
    return attribute


def failed_ids(response: Any, message_ids: Sequence[str]) -> frozenset[str]:
    """The messages to keep, from the answer of a function that reports batch item failures.

    Nothing named means success. An answer Lambda cannot read, an empty identifier or one that is
    not in the batch fails the batch as a whole.
    """
    everything = frozenset(message_ids)
    match response:
        case None | {"batchItemFailures": None}:
            return frozenset()
        case {"batchItemFailures": list(failures)}:
            named = frozenset(map(_identifier, failures))
            return named if named <= everything else everything
        case dict() if "batchItemFailures" not in response:
            return frozenset()
    return everything


def _identifier(failure: Any) -> str:
    """The failed message's id; what is not one becomes the empty id, which no message has."""
    match failure:
        case {"itemIdentifier": str(identifier)}:
            return identifier
    return ""
