"""What ``make prove-deploy`` says of IAM: unused rights, refusals, needless exceptions."""

from __future__ import annotations

import pytest

from tests.deploy.iam import NOT_SEEN_HERE, Right, used

QUEUE = "arn:aws:sqs:us-east-1:000000000000:queue"
SEND = Right("SearchRole", "sqs:SendMessage", QUEUE)
UPLOADS = Right("CleanupRole", "s3:DeleteObject", "arn:aws:s3:::bucket/uploads/*")
ROLES = {"SearchRole": "stack-SearchRole-1", "CleanupRole": "stack-CleanupRole-2"}
EXPLAINED = {Right(role, action, "arn:aws:x") for role, action in NOT_SEEN_HERE}


def decision(role: str, action: str, resource: str, *, allowed: bool = True) -> dict[str, object]:
    return {"role": ROLES[role], "action": action, "resource": resource, "allowed": allowed}


def test_a_right_that_was_used_is_counted() -> None:
    decisions = [decision("SearchRole", "sqs:SendMessage", QUEUE)] * 2
    use = used({SEND}, decisions, ROLES)
    assert use.times == {SEND: 2}
    assert use.unused() == []


@pytest.mark.parametrize(
    "other",
    [
        decision("CleanupRole", "sqs:SendMessage", QUEUE),
        decision("SearchRole", "sqs:ReceiveMessage", QUEUE),
        decision("SearchRole", "sqs:SendMessage", f"{QUEUE}-2"),
        decision("SearchRole", "sqs:SendMessage", QUEUE, allowed=False),
    ],
    ids=["other role", "other action", "other resource", "refused"],
)
def test_a_right_that_nothing_used_is_told(other: dict[str, object]) -> None:
    assert used({SEND}, [other], ROLES).unused() == [SEND]


def test_a_resource_may_be_a_pattern() -> None:
    inside = decision("CleanupRole", "s3:DeleteObject", "arn:aws:s3:::bucket/uploads/1/2")
    outside = decision("CleanupRole", "s3:DeleteObject", "arn:aws:s3:::bucket/other")
    assert used({UPLOADS}, [inside, outside], ROLES).times == {UPLOADS: 1}


def test_a_refusal_is_told() -> None:
    refusal = decision("SearchRole", "sqs:DeleteMessage", QUEUE, allowed=False)
    use = used({SEND}, [refusal], ROLES)
    assert use.refused == {("SearchRole", "sqs:DeleteMessage", QUEUE)}


def test_an_exception_explains_what_is_not_seen() -> None:
    use = used(EXPLAINED, [], ROLES)
    assert use.unused() == []
    assert use.needless_exceptions() == []
    assert "NOT USED" not in "\n".join(use.lines())


def test_an_exception_of_what_is_used_or_not_granted_is_needless() -> None:
    [first, *others] = sorted(EXPLAINED)
    names = {first.role: "stack-role"}
    seen = {
        "role": "stack-role",
        "action": first.action,
        "resource": first.resource,
        "allowed": True,
    }
    assert used(EXPLAINED, [seen], names).needless_exceptions() == [(first.role, first.action)]
    assert used(others, [], names).needless_exceptions() == [(first.role, first.action)]
