"""Requests reach a published version of the HTTP functions: each change has to publish another."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from local.cloudformation import Node, read
from tests.deployment.cloudformation import Resources, of_type
from tests.deployment.conftest import ROOT, TRANSLATOR

HTTP_FUNCTIONS = ("CreateToolFunction", "SearchFunction")
TEMPLATE = ROOT / "template.yaml"


def versions(resources: Resources) -> set[str]:
    return set(of_type(resources, "AWS::Lambda::Version"))


@pytest.mark.parametrize(
    ("layer", "functions"),
    [
        ("SharedLayer", HTTP_FUNCTIONS),
        ("CoreLayer", HTTP_FUNCTIONS),
        ("EmbeddingLayer", ("SearchFunction",)),
    ],
)
def test_a_layer_that_changes_publishes_versions(
    resources: Resources, tmp_path: Path, layer: str, functions: tuple[str, ...]
) -> None:
    document = read(TEMPLATE)
    document["Resources"][layer]["Properties"]["Description"] = "Other contents"
    changed = tmp_path / "template.json"
    changed.write_text(json.dumps(document))
    translated = subprocess.run(  # noqa: S603 - our own program
        [str(TRANSLATOR), "-m", "scripts.translate_template", str(changed)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    after = versions(json.loads(translated.stdout)["Resources"])
    new = {re.sub("Version[0-9a-f]+$", "", name) for name in after - versions(resources)}
    assert new == set(functions)


@pytest.mark.parametrize("function", HTTP_FUNCTIONS)
def test_a_parameter_that_changes_a_function_publishes_a_version(
    resources: Resources, function: str
) -> None:
    """And no other does: CloudFormation fails to publish a function that has not changed."""
    document = read(TEMPLATE)
    properties = dict(resources[function]["Properties"])
    del properties["ReservedConcurrentExecutions"]  # is not part of a version
    settings = resources["SettingsVersion"]["Properties"]["Content"]
    assert parameters_in(settings, document) == parameters_in(properties, document)


def test_a_version_is_described_by_the_settings_it_has(resources: Resources) -> None:
    described = {
        json.dumps(properties["Description"])
        for properties in of_type(resources, "AWS::Lambda::Version").values()
    }
    assert described == {json.dumps({"Fn::Sub": "settings ${SettingsVersion.VersionNumber}"})}


def parameters_in(value: Any, template: Node) -> set[str]:
    """The parameters that a value depends on, by way of conditions as well."""
    parameters = set(template["Parameters"])
    if isinstance(value, list):
        return set().union(*(parameters_in(each, template) for each in value))
    if not isinstance(value, dict):
        return set()
    found: set[str] = set()
    for name, argument in value.items():
        if name == "Ref":
            found |= {argument} & parameters
        elif name == "Fn::Sub":
            text = argument if isinstance(argument, str) else argument[0]
            found |= set(re.findall(r"\$\{(\w+)\}", text)) & parameters
        elif name == "Fn::If":
            found |= parameters_in(template["Conditions"][argument[0]], template)
        found |= parameters_in(argument, template)
    return found
