"""Every part can be built in the environments that the template gives its functions."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import boto3
import pytest

from context_search.integrations.secrets import with_secrets
from context_search.settings import Settings, SettingsError
from local.cloudformation import read, with_references
from local.variables import Variables
from tests.builders import aws_server
from tests.deployment.cloudformation import keeps_rules

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "template.yaml"
WRITTEN = read(TEMPLATE)
PARAMETERS: dict[str, dict[str, Any]] = WRITTEN["Parameters"]
DEFAULTS = {name: each["Default"] for name, each in PARAMETERS.items() if "Default" in each}
RULES = {"Rules": WRITTEN["Rules"]}
QUEUE = "https://sqs.us-east-1.amazonaws.com/123456789012"
RESOURCES = {
    "Queue": f"{QUEUE}/queue",
    "DeadLetterQueue": f"{QUEUE}/dead",
    "UploadBucket": "context-search-uploadbucket",
}
SECRETS: dict[str, dict[str, str]] = {
    "SecretsArn": {
        "database_url": "postgresql://context_search:password@database.example:5432/context_search",
        "turbopuffer_api_key": "tpuf_key",
    },
    "ModelSecretsArn": {"embedding_api_key": "sk-key", "rerank_api_key": "rerank-key"},
    "InternalSecretsArn": {
        "internal_secret": "internal" * 4,
        "internal_secret_previous": "",
        "query_hash_key": "hash" * 8,
    },
}
# Where any text will not do.
FORMS = {
    "EmbeddingModel": "voyage/voyage-3",
    "EmbeddingQueryParams": '{"input_type": "query"}',
    "EmbeddingPassageParams": '{"input_type": "document"}',
    "RerankModels": "cohere/rerank-v3.5 cohere/rerank-multilingual-v3.0",
    "TurbopufferRegion": "gcp-europe-west3",
}
Change = tuple[str, str]


def values(name: str) -> Iterator[str]:
    """What a parameter may be beside its default: each choice, another number or text, nothing."""
    declared = PARAMETERS[name]
    default = str(declared.get("Default", ""))
    if "AllowedValues" in declared:
        choices = [str(each) for each in declared["AllowedValues"]]
    elif declared["Type"] == "Number":
        choices = [str(declared["MinValue"]), str(int(default) + 1)]
    else:
        choices = [FORMS.get(name, "https://something.example")]
        choices += [""] if not declared.get("MinLength") else []
    yield from (each for each in choices if each != default)


def changes() -> list[Change]:
    """Every parameter with every such value, but those of secrets, which have to be there."""
    return [(name, value) for name in PARAMETERS if name not in SECRETS for value in values(name)]


def is_allowed(*several: Change) -> bool:
    return keeps_rules(with_references(RULES, {**DEFAULTS, **dict(several)}))


def cases() -> list[dict[str, str]]:
    """The defaults, each change, and in twos those that the rules refuse one by one."""
    every = changes()
    alone = [change for change in every if is_allowed(change)]
    refused = [change for change in every if change not in alone]
    pairs = [
        pair
        for pair in combinations(every, 2)
        if set(pair) & set(refused) and pair[0][0] != pair[1][0] and is_allowed(*pair)
    ]
    assert {change for pair in pairs for change in pair} >= set(refused)
    return [{}, *({name: value} for name, value in alone), *map(dict, pairs)]


@pytest.fixture(scope="module")
def aws() -> Iterator[dict[str, str]]:
    """moto, and the only variables that Lambda gives and the template does not."""
    with aws_server() as environment:
        yield environment


@pytest.fixture(scope="module")
def client(aws: dict[str, str]) -> Any:
    return boto3.client(
        "secretsmanager",
        endpoint_url=aws["AWS_ENDPOINT_URL"],
        region_name=aws["AWS_DEFAULT_REGION"],
        aws_access_key_id=aws["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=aws["AWS_SECRET_ACCESS_KEY"],
    )


@pytest.fixture(scope="module")
def one_secret(client: Any) -> str:
    """The ARN of the secret of a deployment that has one for everything."""
    everything = {name: value for each in SECRETS.values() for name, value in each.items()}
    made = client.create_secret(Name="of-a-template", SecretString=json.dumps(everything))
    return str(made["ARN"])


@pytest.fixture(scope="module")
def secret_arns(client: Any) -> dict[str, str]:
    """The ARNs of a deployment that has three."""
    return {
        name: str(client.create_secret(Name=name, SecretString=json.dumps(values))["ARN"])
        for name, values in SECRETS.items()
    }


def test_every_parameter_of_a_variable_is_changed() -> None:
    changed = {name for case in cases() for name in case}
    read_by = {
        variable["Ref"]
        for variables in Variables.read(TEMPLATE).by_function.values()
        for variable in variables.values()
        if isinstance(variable, dict)
    }
    assert read_by - changed == {*SECRETS, *RESOURCES}


def test_every_part_of_every_function_can_be_built_with_whatever_parameters(
    aws: dict[str, str], one_secret: str, secret_arns: dict[str, str]
) -> None:
    variables = Variables.read(TEMPLATE)
    given = [{**secret_arns, **RESOURCES}]
    given += [{"SecretsArn": one_secret, **RESOURCES, **case} for case in cases()]
    environments: list[dict[str, str]] = []
    for function in variables.by_function:
        # The functions differ in a name and in secrets, which the first two have each way.
        for each in given if function == "SearchFunction" else given[:2]:
            environment = {**aws, **variables.of(function, each)}
            environments += [environment] if environment not in environments else []
    done = subprocess.run(
        [sys.executable, "-m", "tests.deployment.built_parts"],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}", **environments[0]},
        input=json.dumps(environments),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for environment, failures in zip(environments, json.loads(done.stdout), strict=True):
        assert failures == {}, environment


HTTP, QUEUED = ("CreateToolFunction", "SearchFunction"), ("IndexNodeFunction", "CleanupFunction")


@pytest.fixture
def in_aws(aws: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The client that reads secrets finds moto."""
    for name, value in aws.items():
        monkeypatch.setenv(name, value)


def started(function: str, given: dict[str, str]) -> Settings:
    """What a function is told, secrets included."""
    environment = Variables.read(TEMPLATE).of(function, {**RESOURCES, **given})
    return Settings.from_environ(with_secrets(environment))


@pytest.mark.usefixtures("in_aws")
@pytest.mark.parametrize("function", [*HTTP, *QUEUED])
def test_a_function_starts_with_the_secrets_that_it_needs_and_knows_no_other(
    function: str, secret_arns: dict[str, str]
) -> None:
    settings = started(function, secret_arns)
    assert settings.turbopuffer_api_key == "tpuf_key"
    assert settings.embedding_api_key == (None if function == "CleanupFunction" else "sk-key")
    known = settings.internal_secret == SECRETS["InternalSecretsArn"]["internal_secret"]
    assert known == (function in HTTP)


@pytest.mark.usefixtures("in_aws")
@pytest.mark.parametrize("function", [*HTTP, *QUEUED])
def test_one_secret_for_everything_is_enough(function: str, one_secret: str) -> None:
    assert started(function, {"SecretsArn": one_secret}).turbopuffer_api_key == "tpuf_key"


@pytest.mark.usefixtures("in_aws")
@pytest.mark.parametrize("function", HTTP)
def test_a_function_that_answers_requests_does_not_start_without_the_internal_secret(
    function: str, secret_arns: dict[str, str]
) -> None:
    with pytest.raises(SettingsError, match="INTERNAL_SECRET is not set; QUERY_HASH_KEY is not"):
        started(function, {**secret_arns, "InternalSecretsArn": ""})
    absent = f"{secret_arns['InternalSecretsArn']}x"
    with pytest.raises(SettingsError, match="INTERNAL_SECRETS_ARN: ResourceNotFoundException"):
        started(function, {**secret_arns, "InternalSecretsArn": absent})
