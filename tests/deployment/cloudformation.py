"""Reading a CloudFormation document."""

from __future__ import annotations

from typing import Any

Resources = dict[str, dict[str, Any]]


def of_type(resources: Resources, kind: str) -> Resources:
    """Logical id → properties of every resource of one type."""
    return {
        name: resource["Properties"]
        for name, resource in resources.items()
        if resource["Type"] == kind
    }


NO_VALUE = {"Ref": "AWS::NoValue"}


def chosen(value: Any, conditions: frozenset[str] = frozenset()) -> Any:
    """A value as it is where these conditions hold and no others."""
    if isinstance(value, list):
        return [made for each in value if (made := chosen(each, conditions)) != NO_VALUE]
    if not isinstance(value, dict):
        return value
    if "Fn::If" in value:
        condition, then, otherwise = value["Fn::If"]
        return chosen(then if condition in conditions else otherwise, conditions)
    every = {name: chosen(each, conditions) for name, each in value.items()}
    return {name: each for name, each in every.items() if each != NO_VALUE}


def statements(
    resources: Resources, role: str, conditions: frozenset[str] = frozenset()
) -> list[dict[str, Any]]:
    """Every statement that the template's own policies give to a role."""
    properties = chosen(resources[role]["Properties"], conditions)
    attached = [arn["Ref"] for arn in properties.get("ManagedPolicyArns", []) if "Ref" in arn]
    documents = [resources[name]["Properties"]["PolicyDocument"] for name in attached]
    documents += [policy["PolicyDocument"] for policy in properties.get("Policies", [])]
    return [statement for document in documents for statement in document["Statement"]]


def actions(statement: dict[str, Any]) -> set[str]:
    """The statement's actions, written as one or as a list."""
    action = statement["Action"]
    return {action} if isinstance(action, str) else set(action)


def keeps_rules(template: dict[str, Any]) -> bool:
    """Whether CloudFormation would take the parameters that are filled in."""
    return all(
        not holds(rule["RuleCondition"])
        or all(holds(each["Assert"]) for each in rule["Assertions"])
        for rule in template["Rules"].values()
    )


def holds(condition: Any) -> bool:
    """What CloudFormation makes of a condition whose parameters are filled in."""
    [(function, arguments)] = condition.items()
    if function == "Fn::Not":
        return not holds(arguments[0])
    assert function == "Fn::Equals"
    left, right = arguments
    return bool(left == right)
