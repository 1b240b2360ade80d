"""The functions: where they run, what they carry, what they are told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from context_search.settings import Settings
from local.cloudformation import load
from scripts.prove_layers import LAYERS_OF
from tests.deployment.cloudformation import Resources, keeps_rules, of_type

ROOT = Path(__file__).resolve().parents[2]
# Read by libraries, not by settings.py.
LIBRARY_SWITCHES = {
    "LITELLM_LOCAL_MODEL_COST_MAP",
    "POWERTOOLS_LOG_LEVEL",
    "POWERTOOLS_METRICS_NAMESPACE",
    "POWERTOOLS_SERVICE_NAME",
}
HTTP_API_LIMIT_S = 30


def variables(properties: dict[str, dict[str, dict[str, object]]]) -> set[str]:
    """The names of a function's environment variables."""
    return set(properties["Environment"]["Variables"])


def test_every_function_runs_on_the_machine_that_the_layers_are_built_for(
    functions: Resources,
) -> None:
    machines = {(f["Runtime"], *f["Architectures"], f["Handler"]) for f in functions.values()}
    assert machines == {("python3.13", "arm64", "app.lambda_handler")}


def test_only_the_functions_that_embed_carry_the_embedding_layer(functions: Resources) -> None:
    carried = {
        name: {re.sub("Layer[0-9a-f]*$", "", layer["Ref"]).lower() for layer in f["Layers"]}
        for name, f in functions.items()
    }
    assert carried == {
        f"{name.title().replace('_', '')}Function": {"shared", *layers}
        for name, layers in LAYERS_OF.items()
    }


def test_an_http_function_answers_before_api_gateway_gives_up(functions: Resources) -> None:
    for name in ("CreateToolFunction", "SearchFunction"):
        assert functions[name]["Timeout"] < HTTP_API_LIMIT_S


def test_cleanup_never_runs_twice_at_a_time_and_is_never_retried(
    functions: Resources, resources: Resources
) -> None:
    (asynchronous,) = of_type(resources, "AWS::Lambda::EventInvokeConfig").values()
    (schedule,) = of_type(resources, "AWS::Scheduler::Schedule").values()
    assert functions["CleanupFunction"]["ReservedConcurrentExecutions"] == 1
    assert asynchronous["FunctionName"] == {"Ref": "CleanupFunction"}
    assert asynchronous["MaximumRetryAttempts"] == 0
    assert schedule["Target"]["RetryPolicy"] == {"MaximumRetryAttempts": 0}


def test_two_stacks_fit_in_one_account(resources: Resources) -> None:
    (schedule,) = of_type(resources, "AWS::Scheduler::Schedule").values()
    assert "Name" not in schedule
    for group in of_type(resources, "AWS::Logs::LogGroup").values():
        assert "${AWS::StackName}" in group["LogGroupName"]["Fn::Sub"]


def test_no_log_is_kept_for_ever(functions: Resources, resources: Resources) -> None:
    groups = of_type(resources, "AWS::Logs::LogGroup")
    for group in groups.values():
        assert group["RetentionInDays"] == {"Ref": "LogRetentionDays"}
    for properties in functions.values():
        assert properties["LoggingConfig"]["LogGroup"]["Ref"] in groups


def test_a_function_is_told_only_what_somebody_reads(functions: Resources) -> None:
    secrets = (ROOT / "shared/context_search/integrations/secrets.py").read_text()
    read = set(re.findall(r'"([A-Z][A-Z_]+)"', secrets)) | {
        field.validation_alias for field in Settings.model_fields.values()
    }
    for properties in functions.values():
        assert variables(properties) - LIBRARY_SWITCHES <= read


def test_a_function_is_told_all_that_it_cannot_do_without(functions: Resources) -> None:
    template = (ROOT / "template.yaml").read_text()
    fields = Settings.model_fields.values()
    needed = {str(field.validation_alias) for field in fields if field.is_required()}
    secrets = set()
    for parameter in ("SecretsArn", "ModelSecretsArn", "InternalSecretsArn"):
        description = template.split(f"\n  {parameter}:\n")[1].split("AllowedPattern")[0]
        named = re.findall(r"\b[a-z]+_[a-z_]+\b", description)
        secrets |= {name.upper() for name in named if name != "index_node"}
    assert needed
    for properties in functions.values():
        assert needed <= variables(properties) | secrets
        assert not secrets & variables(properties)


@pytest.mark.parametrize("issuer", ["", "https://issuer.example"])
@pytest.mark.parametrize("audience", ["", "https://search.example/mcp"])
def test_an_issuer_and_its_audience_are_set_together(issuer: str, audience: str) -> None:
    given = {"JwtIssuer": issuer, "JwtAudience": audience}
    allowed = keeps_rules(load(ROOT / "template.yaml", given))
    assert allowed is (bool(issuer) == bool(audience))


@pytest.mark.parametrize("region", ["", "aws-us-east-1"])
@pytest.mark.parametrize("base_url", ["", "https://private.example"])
def test_turbopuffer_is_somewhere(region: str, base_url: str) -> None:
    given = {"TurbopufferRegion": region, "TurbopufferBaseUrl": base_url}
    allowed = keeps_rules(load(ROOT / "template.yaml", given))
    assert allowed is bool(region or base_url)


@pytest.mark.parametrize(
    ("issuer", "is_taken"),
    [("", True), ("https://issuer.example/a/", True)]
    + [(url, False) for url in ("http://issuer.example", "https://", "https://a?b", "https://a@b")],
)  # fmt: skip
def test_the_issuer_is_an_https_address(issuer: str, is_taken: bool) -> None:  # noqa: FBT001
    pattern = load(ROOT / "template.yaml")["Parameters"]["JwtIssuer"]["AllowedPattern"]
    assert bool(re.fullmatch(pattern, issuer)) is is_taken


def test_every_line_of_a_function_is_json_and_metrics_are_not_filtered_out(
    functions: Resources,
) -> None:
    for properties in functions.values():
        assert properties["LoggingConfig"]["LogFormat"] == "JSON"
        assert properties["LoggingConfig"]["ApplicationLogLevel"] == {"Ref": "LogLevel"}
        assert properties["Environment"]["Variables"]["POWERTOOLS_LOG_LEVEL"] == {"Ref": "LogLevel"}
    levels = load(ROOT / "template.yaml")["Parameters"]["LogLevel"]["AllowedValues"]
    assert levels == ["DEBUG", "INFO"]  # a line without a level, as a metric is, counts as INFO
