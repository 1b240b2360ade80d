"""Whoever follows docs/deploy.md word by word finds every command, file, parameter and output."""

from __future__ import annotations

import re

import pytest

from local.cloudformation import read
from local.deployed import roles_of
from local.options import ROOT

PAGE = (ROOT / "docs/deploy.md").read_text("utf-8")
SCRIPT = (ROOT / "scripts/first_deployment.sh").read_text("utf-8")
DEPLOYS = re.findall(
    r"cloudformation deploy --stack-name ([\w-]+) --template-file (\S+)"
    r"(?: \\\n +--parameter-overrides (.*))?",
    PAGE,
)


@pytest.mark.parametrize("text", [PAGE, SCRIPT], ids=["page", "script"])
def test_every_target_of_make_is_there(text: str) -> None:
    made = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:^|`|&& |… )make ([a-z][a-z0-9-]+)", text, re.MULTILINE))
    assert named
    assert named <= made


@pytest.mark.parametrize(("stack", "template", "overrides"), DEPLOYS, ids=lambda value: value[:30])
def test_a_template_takes_the_parameters_that_it_is_given(
    stack: str, template: str, overrides: str
) -> None:
    parameters = read(ROOT / template).get("Parameters", {})
    given = {pair.partition("=")[0] for pair in overrides.split()}
    needed = {name for name, each in parameters.items() if "Default" not in each}
    assert needed <= given <= parameters.keys()
    assert f"describe-stacks --stack-name {stack} " in PAGE


def test_every_output_that_is_named_is_there() -> None:
    outputs = {"template.yaml": set(read(ROOT / "template.yaml")["Outputs"])}
    for _, template, _ in DEPLOYS:
        outputs[template] = set(read(ROOT / template)["Outputs"])
    assert {"ApiUrl", "McpUrl", "QueueUrl", "DlqUrl"} == outputs["template.yaml"]
    assert "OwnerSecretArn" in outputs["infrastructure/aurora.yaml"]
    for name in re.findall(r"OutputKey=='(\w+)'", PAGE + SCRIPT):
        assert name in outputs["template.yaml"]


def test_the_page_and_the_script_name_every_parameter_that_has_no_default() -> None:
    parameters = read(ROOT / "template.yaml")["Parameters"]
    needed = {name for name, each in parameters.items() if "Default" not in each}
    assert needed
    for name in needed:
        assert f"`{name}`" in PAGE
        assert f"{name}=" in SCRIPT


def test_every_parameter_is_in_the_table_or_among_the_tokens() -> None:
    parameters = read(ROOT / "template.yaml")["Parameters"]
    missing = {name for name in parameters if f"`{name}`" not in PAGE}
    assert missing == set()


def test_the_emulated_deployment_uses_the_role_of_the_page() -> None:
    statements = roles_of(PAGE)
    assert "NOBYPASSRLS" in statements
    assert "choose one" in statements
