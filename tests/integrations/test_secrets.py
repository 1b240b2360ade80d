"""Secrets Manager secrets become the environment, through the real client against moto."""

from __future__ import annotations

import json
from collections.abc import Iterator

import boto3
import pytest

from context_search.integrations.secrets import with_secrets
from context_search.settings import SettingsError
from context_search.web.problems import log_text
from tests.builders import aws_server

VALUES = {
    "database_url": "postgresql://u:p@h/d",
    "turbopuffer_api_key": "tpuf_x",
    "internal_secret_previous": "",
    "embedding_dimensions": 8,
    "embedding_api_key": None,
}


@pytest.fixture(scope="module")
def aws() -> Iterator[dict[str, str]]:
    with aws_server() as environment:
        yield environment


@pytest.fixture
def arn(aws: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name, value in aws.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("secretsmanager")
    made = client.create_secret(Name="of-an-adapter", SecretString=json.dumps(VALUES))
    yield made["ARN"]
    client.delete_secret(SecretId=made["ARN"], ForceDeleteWithoutRecovery=True)


def test_the_secret_is_laid_over_the_environment(arn: str) -> None:
    merged = with_secrets({"SECRETS_ARN": arn, "QUEUE_URL": "q", "DATABASE_URL": "overridden"})
    assert merged == {
        "SECRETS_ARN": arn,
        "QUEUE_URL": "q",
        "DATABASE_URL": "postgresql://u:p@h/d",
        "TURBOPUFFER_API_KEY": "tpuf_x",
        "INTERNAL_SECRET_PREVIOUS": "",
        "EMBEDDING_DIMENSIONS": "8",
        "EMBEDDING_API_KEY": "",
    }


@pytest.mark.parametrize("environ", [{"DATABASE_URL": "here"}, {"SECRETS_ARN": "", "A": "b"}])
def test_without_an_arn_the_environment_holds_the_secrets(environ: dict[str, str]) -> None:
    assert with_secrets(environ) is environ


@pytest.mark.parametrize("text", ['["canary"]', '"canary"', "canary", "null", "7"])
def test_a_secret_that_is_no_json_object_says_so_and_shows_nothing(arn: str, text: str) -> None:
    boto3.client("secretsmanager").put_secret_value(SecretId=arn, SecretString=text)
    with pytest.raises(SettingsError, match="SECRETS_ARN is not a JSON object") as caught:
        with_secrets({"SECRETS_ARN": arn})
    assert "canary" not in log_text(caught.value)


def test_a_secret_that_was_changed_is_read_as_it_is_now(arn: str) -> None:
    assert with_secrets({"SECRETS_ARN": arn})["TURBOPUFFER_API_KEY"] == "tpuf_x"
    boto3.client("secretsmanager").put_secret_value(
        SecretId=arn, SecretString=json.dumps({"turbopuffer_api_key": "tpuf_y"})
    )
    assert with_secrets({"SECRETS_ARN": arn})["TURBOPUFFER_API_KEY"] == "tpuf_y"


def test_a_secret_that_is_not_text_is_none(arn: str) -> None:
    boto3.client("secretsmanager").put_secret_value(SecretId=arn, SecretBinary=b"{}")
    with pytest.raises(SettingsError, match="is not a JSON object"):
        with_secrets({"SECRETS_ARN": arn})


def test_a_secrets_manager_that_is_away_says_so(arn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(SettingsError, match="EndpointConnectionError"):
        with_secrets({"SECRETS_ARN": arn})


def test_a_second_secret_is_laid_over_the_first(arn: str) -> None:
    client = boto3.client("secretsmanager")
    later = json.dumps({"internal_secret": "of the second", "turbopuffer_api_key": "tpuf_y"})
    made = client.create_secret(Name="second", SecretString=later)
    merged = with_secrets({"SECRETS_ARN": arn, "INTERNAL_SECRETS_ARN": made["ARN"]})
    assert (merged["INTERNAL_SECRET"], merged["TURBOPUFFER_API_KEY"]) == ("of the second", "tpuf_y")
    assert merged["DATABASE_URL"] == VALUES["database_url"]
    client.put_secret_value(SecretId=made["ARN"], SecretString="[]")
    with pytest.raises(SettingsError, match="secret of INTERNAL_SECRETS_ARN is not a JSON object"):
        with_secrets({"SECRETS_ARN": arn, "INTERNAL_SECRETS_ARN": made["ARN"]})


def test_a_secret_that_is_missing_stops_the_function(arn: str) -> None:
    with pytest.raises(SettingsError, match="SECRETS_ARN: ResourceNotFoundException"):
        with_secrets({"SECRETS_ARN": f"{arn}x"})
