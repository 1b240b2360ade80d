"""Every role may do what its function does, and nothing else."""

from __future__ import annotations

import json

import pytest

from tests.deployment.cloudformation import Resources, actions, of_type, statements

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
    "CreateToolRole": BASICS | SEND | REDRIVE | PUT_UPLOAD,
    "SearchRole": BASICS | SEND,
    "IndexNodeRole": BASICS | SEND | RECEIVE | IMPORT_UPLOAD,
    "CleanupRole": BASICS | SEND | COUNT | FORGET_UPLOAD,
    "CleanupFunctionScheduleRole": {"lambda:InvokeFunction"},
}


def test_the_roles_are_the_known_ones(resources: Resources) -> None:
    assert of_type(resources, "AWS::IAM::Role").keys() == GRANTED.keys()


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
        for narrow in (
            "log-group:/aws/lambda/${AWS::StackName}/*",
            "${UploadBucket.Arn}/uploads/*",
        ):
            resource = resource.replace(narrow, "")
        assert "*" not in resource


@pytest.mark.parametrize("role", GRANTED)
def test_amazons_own_policies_are_attached_only_inside_a_vpc(
    resources: Resources, role: str
) -> None:
    arns = resources[role]["Properties"].get("ManagedPolicyArns", [])
    for arn in arns:
        if "Ref" not in arn:
            condition, inside, outside = arn["Fn::If"]
            assert (condition, outside) == ("InVpc", {"Ref": "AWS::NoValue"})
            assert inside["Fn::Sub"].endswith(":policy/service-role/AWSLambdaENIManagementAccess")


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
    roles = [properties["Role"]["Fn::GetAtt"][0] for properties in functions.values()]
    assert sorted(roles) == sorted(GRANTED.keys() - {"CleanupFunctionScheduleRole"})
