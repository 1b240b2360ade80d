"""The queue loses nothing and gives up on nothing too early."""

from __future__ import annotations

from typing import Any

import pytest

from tests.deployment.cloudformation import Resources, chosen, of_type

DAY_S = 86_400


@pytest.fixture
def mapping(resources: Resources) -> dict[str, Any]:
    """The event source mapping between the queue and index_node."""
    (found,) = of_type(resources, "AWS::Lambda::EventSourceMapping").values()
    return found


def test_a_message_stays_invisible_for_six_timeouts_of_its_function(
    resources: Resources, functions: Resources
) -> None:
    visible_again_s = resources["Queue"]["Properties"]["VisibilityTimeout"]
    assert visible_again_s >= 6 * functions["IndexNodeFunction"]["Timeout"]


def test_a_message_is_tried_five_times_before_it_is_put_aside(resources: Resources) -> None:
    policy = resources["Queue"]["Properties"]["RedrivePolicy"]
    assert policy["deadLetterTargetArn"] == {"Fn::GetAtt": ["DeadLetterQueue", "Arn"]}
    assert policy["maxReceiveCount"] >= 5


def test_dead_letters_are_kept_as_long_as_sqs_keeps_anything(resources: Resources) -> None:
    dead_letters = resources["DeadLetterQueue"]["Properties"]
    assert dead_letters["MessageRetentionPeriod"] == 14 * DAY_S
    assert resources["Queue"]["Properties"]["MessageRetentionPeriod"] < 14 * DAY_S


def test_every_queue_is_encrypted(resources: Resources) -> None:
    queues = of_type(resources, "AWS::SQS::Queue").values()
    assert [chosen(queue)["SqsManagedSseEnabled"] for queue in queues] == [True, True]
    with_key = [chosen(queue, frozenset({"HasKey"})) for queue in queues]
    assert [queue["KmsMasterKeyId"] for queue in with_key] == [{"Ref": "KmsKeyArn"}] * 2


def test_no_queue_is_asked_in_the_clear(resources: Resources) -> None:
    [policy] = of_type(resources, "AWS::SQS::QueuePolicy").values()
    queues = of_type(resources, "AWS::SQS::Queue")
    assert {queue["Ref"] for queue in policy["Queues"]} == queues.keys()
    [statement] = policy["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Principal"], statement["Action"]) == (
        "Deny",
        "*",
        "sqs:*",
    )
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_one_bad_message_does_not_bring_its_neighbours_back(mapping: dict[str, Any]) -> None:
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert 1 <= mapping["BatchSize"] <= 5


def test_the_queue_is_throttled_by_the_mapping_and_not_by_reserved_concurrency(
    mapping: dict[str, Any], functions: Resources
) -> None:
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": {"Ref": "IndexConcurrency"}}
    assert "ReservedConcurrentExecutions" not in functions["IndexNodeFunction"]


def test_only_the_function_that_sends_to_itself_may_do_so(functions: Resources) -> None:
    allowed = {name for name, f in functions.items() if f.get("RecursiveLoop") == "Allow"}
    assert allowed == {"IndexNodeFunction"}


def test_the_first_dead_letter_raises_an_alarm(resources: Resources) -> None:
    alarm = resources["DeadLetterAlarm"]["Properties"]
    assert alarm["MetricName"] == "ApproximateNumberOfMessagesVisible"
    assert alarm["Dimensions"] == [
        {"Name": "QueueName", "Value": {"Fn::GetAtt": ["DeadLetterQueue", "QueueName"]}}
    ]
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0)


def test_a_queue_that_takes_no_orders_raises_an_alarm_before_users_ask(
    resources: Resources,
) -> None:
    alarm = resources["OutboxAlarm"]["Properties"]
    assert (alarm["Namespace"], alarm["MetricName"]) == ("context-search", "outbox_age_seconds")
    assert alarm["Dimensions"] == [{"Name": "service", "Value": "cleanup"}]
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 300)
