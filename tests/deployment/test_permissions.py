"""Every role may do what its function does, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.deployment.cloudformation import Resources, actions, chosen, of_type, statements

BASICS = {"secretsmanager:GetSecretValue", "logs:CreateLogStream", "logs:PutLogEvents"}
SEND = {"sqs:SendMessage"}
COUNT = {"sqs:GetQueueAttributes"}
RECEIVE = {
    "sqs:ReceiveMessage",
    "sqs:DeleteMessage",
    "sqs:ChangeMessageVisibility",
    "sqs:GetQueueAttributes",
}
REDRIVE = {"sqs:ReceiveMessage", "sqs:DeleteMessage"}
PUT_UPLOAD = {"s3:PutObject", "s3:GetObject"}
IMPORT_UPLOAD = {"s3:GetObject", "s3:DeleteObject"}
FORGET_UPLOAD = {"s3:DeleteObject"}
GRANTED = {
    "CreateToolRole": BASICS | SEND | COUNT | REDRIVE | PUT_UPLOAD,  # COUNT: for health
    "SearchRole": BASICS | SEND,
    "IndexNodeRole": BASICS | SEND | RECEIVE | IMPORT_UPLOAD,
    "CleanupRole": BASICS | SEND | COUNT | FORGET_UPLOAD,
    "CleanupFunctionScheduleRole": {"lambda:InvokeFunction"},
}
SECRETS = {
    "CreateToolRole": {"SecretsArn", "ModelSecretsArn", "InternalSecretsArn"},
    "SearchRole": {"SecretsArn", "ModelSecretsArn", "InternalSecretsArn"},
    "IndexNodeRole": {"SecretsArn", "ModelSecretsArn"},
    "CleanupRole": {"SecretsArn"},
}
CODE_DEPLOY = "CodeDeployServiceRole"
"""SAM makes it, for AWS' own service: it moves the traffic to a new version."""


def role_of(function: dict[str, Any]) -> str:
    """The logical id of a function's role."""
    return str(function["Role"]["Fn::GetAtt"][0])


def test_the_roles_are_the_known_ones(resources: Resources) -> None:
    roles = of_type(resources, "AWS::IAM::Role")
    assert roles.keys() == GRANTED.keys() | {CODE_DEPLOY}
    [statement] = roles[CODE_DEPLOY]["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": ["codedeploy.amazonaws.com"]}


@pytest.mark.parametrize("role", sorted(GRANTED.keys() - {"CleanupFunctionScheduleRole"}))
@pytest.mark.parametrize(
    ("condition", "more"),
    [
        ("HasKey", {"kms:Decrypt", "kms:GenerateDataKey"}),
        ("Traces", {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}),
    ],
)
def test_a_role_may_use_a_key_or_send_traces_only_where_they_are_asked_for(
    resources: Resources, role: str, condition: str, more: set[str]
) -> None:
    found = statements(resources, role, frozenset({condition}))
    assert set().union(*map(actions, found)) == GRANTED[role] | more


@pytest.mark.parametrize("role", GRANTED)
def test_a_role_grants_exactly_what_is_needed(resources: Resources, role: str) -> None:
    granted = set().union(*(actions(statement) for statement in statements(resources, role)))
    assert granted == GRANTED[role]


@pytest.mark.parametrize("role", GRANTED)
def test_no_statement_is_about_everything(resources: Resources, role: str) -> None:
    for statement in statements(resources, role):
        assert statement["Effect"] == "Allow"
        assert "*" not in "".join(actions(statement))
        resource = json.dumps(statement["Resource"])
        assert "*" not in resource.replace("${UploadBucket.Arn}/uploads/*", "")


@pytest.mark.parametrize("role", SECRETS)
def test_a_role_reads_the_secrets_that_its_function_is_told_and_no_other(
    resources: Resources, functions: Resources, role: str
) -> None:
    split = frozenset({"HasModelSecrets", "HasInternalSecrets"})
    for conditions, readable in ((split, SECRETS[role]), (frozenset(), {"SecretsArn"})):
        found = statements(resources, role, conditions)
        [read] = [each for each in found if "secretsmanager:GetSecretValue" in actions(each)]
        assert {each["Ref"] for each in read["Resource"]} == readable
    [function] = [each for each in functions.values() if role_of(each) == role]
    reported = function["Environment"]["Variables"]
    assert {each["Ref"] for name, each in reported.items() if "SECRETS_ARN" in name} == SECRETS[
        role
    ]


@pytest.mark.parametrize("role", SECRETS)
def test_a_role_writes_the_log_of_its_function_and_no_other(
    resources: Resources, functions: Resources, role: str
) -> None:
    found = statements(resources, role)
    [write] = [each for each in found if "logs:PutLogEvents" in actions(each)]
    [function] = [each for each in functions.values() if role_of(each) == role]
    group = function["LoggingConfig"]["LogGroup"]["Ref"]
    assert write["Resource"] == {"Fn::GetAtt": [group, "Arn"]}


@pytest.mark.parametrize("role", GRANTED)
def test_amazons_own_policies_are_attached_only_inside_a_vpc(
    resources: Resources, role: str
) -> None:
    arns = resources[role]["Properties"].get("ManagedPolicyArns", [])
    assert all("Ref" in arn for arn in chosen(arns))
    inside = [arn for arn in chosen(arns, frozenset({"InVpc"})) if "Ref" not in arn]
    for arn in inside:
        assert arn["Fn::Sub"].endswith(":policy/service-role/AWSLambdaENIManagementAccess")
    assert len(inside) == (role != "CleanupFunctionScheduleRole")


@pytest.mark.parametrize(
    ("role", "queues"),
    [
        ("CreateToolRole", {"DeadLetterQueue"}),
        ("SearchRole", set[str]()),
        ("IndexNodeRole", {"Queue"}),
        ("CleanupRole", set[str]()),
    ],
)
def test_a_role_takes_messages_only_from_its_own_queue(
    resources: Resources, role: str, queues: set[str]
) -> None:
    taking = [s for s in statements(resources, role) if "sqs:ReceiveMessage" in actions(s)]
    assert {statement["Resource"]["Fn::GetAtt"][0] for statement in taking} == queues


def test_every_function_has_a_role_of_its_own(functions: Resources) -> None:
    assert sorted(map(role_of, functions.values())) == sorted(
        GRANTED.keys() - {"CleanupFunctionScheduleRole"}
    )
