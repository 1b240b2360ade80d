"""SQS messages as Lambda events, and which of a batch's messages a function's answer keeps."""

from __future__ import annotations

from typing import Any

import pytest

from local.poller import failed_ids, sqs_event

ARN = "arn:aws:sqs:eu-west-1:000000000000:work"


def test_a_message_becomes_the_record_that_lambda_would_pass() -> None:
    event = sqs_event(
        [
            {
                "MessageId": "m-1",
                "ReceiptHandle": "r-1",
                "Body": "{}",
                "MD5OfBody": "99914b932bd37a50b983c5e7c90ae93b",
                "Attributes": {"ApproximateReceiveCount": "2"},
            }
        ],
        ARN,
    )
    assert event == {
        "Records": [
            {
                "messageId": "m-1",
                "receiptHandle": "r-1",
                "body": "{}",
                "attributes": {"ApproximateReceiveCount": "2"},
                "messageAttributes": {},
                "md5OfBody": "99914b932bd37a50b983c5e7c90ae93b",
                "eventSource": "aws:sqs",
                "eventSourceARN": ARN,
                "awsRegion": "eu-west-1",
            }
        ]
    }


def test_an_answer_that_names_nothing_is_a_success() -> None:
    assert failed_ids({"batchItemFailures": []}, ["a", "b"]) == frozenset()


def test_only_the_named_messages_are_kept() -> None:
    answer = {"batchItemFailures": [{"itemIdentifier": "b"}]}
    assert failed_ids(answer, ["a", "b", "c"]) == {"b"}


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        "done",
        [],
        42,
        {"batchItemFailures": "a"},
        {"batchItemFailures": ["a"]},
        {"batchItemFailures": [{"itemIdentifier": ""}]},
        {"batchItemFailures": [{"itemIdentifier": None}]},
        {"batchItemFailures": [{"identifier": "a"}]},
        {"batchItemFailures": [{"itemIdentifier": "a"}, {"itemIdentifier": "unknown"}]},
    ],
)
def test_an_answer_that_lambda_cannot_read_fails_the_whole_batch(answer: Any) -> None:
    assert failed_ids(answer, ["a", "b"]) == {"a", "b"}
