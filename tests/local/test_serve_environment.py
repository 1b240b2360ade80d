"""Which parts are local, and what the functions' environment then is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from local.environment import Choice, Endpoints, function_environment, process_environment
from local.options import ROOT
from local.template import TemplateError
from local.variables import Variables

ENDPOINTS = Endpoints(
    database_url="postgresql://local",
    turbopuffer_url="http://127.0.0.1:1",
    emulator_url="http://127.0.0.1:2",
    queue_url="http://127.0.0.1:2/000000000000/Queue",
    dead_letter_queue_url="http://127.0.0.1:2/000000000000/Dead",
    public_url="http://127.0.0.1:3",
)
SECRETS = {"internal_secret": "made-secret", "query_hash_key": "made-key"}


def _environment(user: dict[str, str], endpoints: Endpoints = ENDPOINTS) -> dict[str, str]:
    return function_environment(user, Choice.of(user), endpoints, SECRETS, ROOT / "template.yaml")


def test_without_services_of_the_users_everything_is_local() -> None:
    assert Choice.of({}) == Choice(database=True, turbopuffer=True, embedding=True, queue=True)
    environment = _environment({"PATH": "/bin"})
    assert environment["DATABASE_URL"] == "postgresql://local"
    assert environment["TURBOPUFFER_BASE_URL"] == "http://127.0.0.1:1"
    assert environment["EMBEDDING_MODEL"] == "local/use-multilingual-v3"
    assert environment["EMBEDDING_DIMENSIONS"] == "512"
    assert json.loads(environment["EMBEDDING_QUERY_PARAMS"]) == {"input_type": "query"}
    assert environment["QUEUE_URL"].endswith("/Queue")
    assert environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:2"
    assert environment["INTERNAL_SECRET"] == "made-secret"
    assert environment["PATH"] == "/bin"


def test_mcp_is_served_to_this_machine_unless_the_user_says_otherwise() -> None:
    assert _environment({})["ALLOWED_HOSTS"].split() == ["127.0.0.1:*", "localhost:*", "[::1]:*"]
    assert _environment({"ALLOWED_HOSTS": "tunnel.example"})["ALLOWED_HOSTS"] == "tunnel.example"


def test_answers_name_the_address_that_the_stack_serves_at_unless_the_user_has_another() -> None:
    assert _environment({})["PUBLIC_URL"] == "http://127.0.0.1:3"
    own = {"PUBLIC_URL": "https://tunnel.example"}
    assert _environment(own)["PUBLIC_URL"] == "https://tunnel.example"


@pytest.mark.parametrize(
    ("user", "real"),
    [
        ({"DATABASE_URL": "postgresql://real"}, "database"),
        ({"TURBOPUFFER_API_KEY": "k", "TURBOPUFFER_REGION": "r"}, "turbopuffer"),
        ({"TURBOPUFFER_API_KEY": "k", "TURBOPUFFER_BASE_URL": "u"}, "turbopuffer"),
        ({"EMBEDDING_MODEL": "openai/text-embedding-3-small"}, "embedding"),
        ({"QUEUE_URL": "q", "DEAD_LETTER_QUEUE_URL": "d"}, "queue"),
    ],
)
def test_a_service_the_user_names_is_used_and_the_others_stay_local(
    user: dict[str, str], real: str
) -> None:
    choice = Choice.of(user)
    parts = ("database", "turbopuffer", "embedding", "queue")
    assert [part for part in parts if not getattr(choice, part)] == [real]


def test_half_a_service_is_none() -> None:
    assert Choice.of({"TURBOPUFFER_API_KEY": "k", "QUEUE_URL": "q", "DATABASE_URL": ""}) == Choice(
        database=True, turbopuffer=True, embedding=True, queue=True
    )
    half = _environment({"TURBOPUFFER_REGION": "gcp-us-central1"})
    assert half["TURBOPUFFER_BASE_URL"] == "http://127.0.0.1:1"


def test_a_real_model_keeps_its_own_dimensions_and_has_the_parameters_of_a_deployment() -> None:
    environment = _environment({"EMBEDDING_MODEL": "cohere/x", "EMBEDDING_DIMENSIONS": "1024"})
    assert environment["EMBEDDING_DIMENSIONS"] == "1024"
    assert environment["EMBEDDING_QUERY_PARAMS"] == "{}"
    assert environment["EMBEDDING_WINDOW_TOKENS"] == "250"


def test_what_the_template_sets_is_set_here_and_empty_where_it_is_empty_there() -> None:
    variables = Variables.read(ROOT / "template.yaml")
    references = {"SecretsArn": "a", "Queue": "q", "DeadLetterQueue": "d", "UploadBucket": "b"}
    for function in variables.by_function:
        deployed = variables.of(function, references)
        here = _environment({})
        assert deployed.keys() <= here.keys()
        untouched = {name for name, value in deployed.items() if here[name] == value}
        assert {"TURBOPUFFER_REGION", "EMBEDDING_API_BASE", "JWT_ISSUER"} <= untouched
        assert (here["EMBEDDING_API_BASE"], here["JWT_ISSUER"]) == ("", "")


def test_a_real_turbopuffer_leaves_the_other_variable_empty_as_a_deployment_does() -> None:
    region = {"TURBOPUFFER_API_KEY": "k", "TURBOPUFFER_REGION": "gcp-us-central1"}
    environment = _environment(region)
    assert region.items() <= environment.items()
    assert environment["TURBOPUFFER_BASE_URL"] == ""


def test_every_variable_of_the_template_may_be_the_users() -> None:
    user = {"STRING_MAX_CHARS": "7", "POWERTOOLS_LOG_LEVEL": "DEBUG", "INDEX_LEASE_SECONDS": "5"}
    assert user.items() <= _environment(user).items()
    assert _environment({"STRING_MAX_CHARS": ""})["STRING_MAX_CHARS"] == "50000000"


def test_a_variable_that_is_computed_in_another_way_is_named(tmp_path: Path) -> None:
    template = tmp_path / "template.yaml"
    text = ROOT.joinpath("template.yaml").read_text()
    template.write_text(text.replace("QUEUE_URL: !Ref Queue", "QUEUE_URL: !GetAtt Queue.QueueUrl"))
    with pytest.raises(TemplateError, match="QUEUE_URL"):
        function_environment({}, Choice.of({}), ENDPOINTS, SECRETS, template)


def test_the_users_aws_account_is_out_of_reach_while_sqs_is_local() -> None:
    user = {
        "AWS_PROFILE": "production",
        "AWS_SESSION_TOKEN": "t",
        "AWS_ACCESS_KEY_ID": "AKIA",
        "AWS_REGION": "eu-west-1",
    }
    environment = _environment(user)
    assert {k: v for k, v in environment.items() if k.startswith("AWS_")} == {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:2",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    assert environment["UPLOAD_BUCKET"] == "uploads"
    real = Endpoints("d", "t", None, "q", "dlq")
    user |= {"QUEUE_URL": "q", "DEAD_LETTER_QUEUE_URL": "dlq"}
    assert user.items() <= _environment(user, real).items()


def test_secrets_of_the_users_win() -> None:
    environment = _environment({"INTERNAL_SECRET": "mine", "QUERY_HASH_KEY": "mine-too"})
    assert (environment["INTERNAL_SECRET"], environment["QUERY_HASH_KEY"]) == ("mine", "mine-too")


def test_a_proxy_of_the_users_does_not_see_local_traffic() -> None:
    environment = _environment({"HTTPS_PROXY": "http://proxy", "NO_PROXY": "corp"})
    assert environment["NO_PROXY"] == "corp,127.0.0.1,localhost"
    assert environment["no_proxy"] == "corp,127.0.0.1,localhost"


def test_a_part_gets_what_python_needs_and_no_configuration_of_the_users() -> None:
    user = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "PYTHONPATH": "/x",
        "MINISTACK_REGION": "r",
        "SERVICES": "s",
    }
    assert process_environment(user, Path("/checkout")) == {
        "PATH": "/bin",
        "LC_ALL": "C",
        "PYTHONPATH": "/checkout:/checkout/shared:/x",
    }
