"""What the deployed roles may do, and what they did: both have to be the same."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

_LOGS = "Lambda writes the lines with this right; MiniStack writes them and asks nobody"
_POLLER = "Lambda's poller takes messages with this right; MiniStack's asks nobody"
# By the logical ids of the template, and those that SAM adds.
FUNCTION_ROLES = ("CreateToolRole", "SearchRole", "IndexNodeRole", "CleanupRole")
NOT_SEEN_HERE: Mapping[tuple[str, str], str] = {
    **{(role, "logs:CreateLogStream"): _LOGS for role in FUNCTION_ROLES},
    **{(role, "logs:PutLogEvents"): _LOGS for role in FUNCTION_ROLES},
    ("IndexNodeRole", "sqs:ReceiveMessage"): _POLLER,
    ("IndexNodeRole", "sqs:DeleteMessage"): _POLLER,
    ("IndexNodeRole", "sqs:GetQueueAttributes"): _POLLER,
    ("CleanupFunctionScheduleRole", "lambda:InvokeFunction"): (
        "the schedule starts the function with this right; MiniStack's asks nobody"
    ),
}


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """One action of one statement; ``resource`` may hold ``*``."""

    role: str
    action: str
    resource: str

    def allows(self, role: str, action: str, resource: str) -> bool:
        """Whether it is the right to do that."""
        return (
            self.role == role
            and fnmatchcase(action, self.action)
            and fnmatchcase(resource, self.resource)
        )


@dataclass(frozen=True, slots=True)
class Use:
    """Rights with how often each was used, and what was refused."""

    times: Mapping[Right, int]
    refused: frozenset[tuple[str, str, str]]

    def unused(self) -> list[Right]:
        """Rights that nothing asked for and no exception explains."""
        return sorted(
            right
            for right, times in self.times.items()
            if times == 0 and (right.role, right.action) not in NOT_SEEN_HERE
        )

    def needless_exceptions(self) -> list[tuple[str, str]]:
        """Exceptions that explain nothing: the right was used, or is not granted."""
        idle = {(right.role, right.action) for right, times in self.times.items() if times == 0}
        return sorted(set(NOT_SEEN_HERE) - idle)

    def lines(self) -> Iterator[str]:
        """A line a right, for people."""
        for right, times in sorted(self.times.items()):
            why = NOT_SEEN_HERE.get((right.role, right.action), "NOT USED")
            yield f"{right.role:28}{right.action:34}{f'{times} x' if times else why}"


def rights_of(iam: Any, roles: Mapping[str, str]) -> set[Right]:
    """Every right of the roles (logical id → name) by their own and attached policies.

    Policies of AWS itself are left out: their words are not this template's.
    """
    return {
        Right(logical_id, action, resource)
        for logical_id, name in roles.items()
        for document in _documents(iam, name)
        for statement in document["Statement"]
        for action in _listed(statement["Action"])
        for resource in _listed(statement["Resource"])
    }


def used(
    rights: Iterable[Right], decisions: Iterable[Mapping[str, Any]], roles: Mapping[str, str]
) -> Use:
    """Sorts decisions (see ``local.aws``) by the right that they were about."""
    logical = {name: logical_id for logical_id, name in roles.items()}
    rights = list(rights)
    times = Counter(dict.fromkeys(rights, 0))
    refused = set()
    for decision in decisions:
        about = (logical[decision["role"]], decision["action"], decision["resource"])
        if decision["allowed"]:
            times.update(right for right in rights if right.allows(*about))
        else:
            refused.add(about)
    return Use(times, frozenset(refused))


def _documents(iam: Any, role: str) -> Iterator[dict[str, Any]]:
    for policy in iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]:
        arn = policy["PolicyArn"]
        if not arn.startswith("arn:aws:iam::aws:"):
            version = iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
            yield _document(
                iam.get_policy_version(PolicyArn=arn, VersionId=version)["PolicyVersion"][
                    "Document"
                ]
            )
    for name in iam.list_role_policies(RoleName=role)["PolicyNames"]:
        yield _document(iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"])


def _document(document: Any) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(document) if isinstance(document, str) else document
    return parsed


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
