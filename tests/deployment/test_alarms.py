"""What goes wrong raises an alarm, and each alarm has a line that says what to do."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from context_search.web.metrics import METRICS
from local.options import ROOT
from tests.deployment.cloudformation import Resources, of_type

FUNCTIONS = ["CreateTool", "Search", "IndexNode", "Cleanup"]


def watched(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the metrics of an alarm: its own, or those that it computes with."""
    parts = [
        each["MetricStat"]["Metric"] for each in alarm.get("Metrics", ()) if "MetricStat" in each
    ]
    return parts or [alarm]


@pytest.fixture
def alarms(resources: Resources) -> Resources:
    """Logical id → properties of every alarm."""
    return of_type(resources, "AWS::CloudWatch::Alarm")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_fails_or_gets_no_place_or_needs_its_time_raises_an_alarm(
    alarms: Resources, functions: Resources, name: str
) -> None:
    by_metric = {
        metric["MetricName"]: alarm
        for alarm in alarms.values()
        for metric in watched(alarm)
        if metric["Namespace"] == "AWS/Lambda"
        and metric["Dimensions"] == [{"Name": "FunctionName", "Value": {"Ref": f"{name}Function"}}]
    }
    assert by_metric.keys() >= {"Errors", "Throttles", "Duration"}
    limit_ms = functions[f"{name}Function"]["Timeout"] * 1000
    assert by_metric["Duration"]["Threshold"] == 0.9 * limit_ms


@pytest.mark.parametrize("name", ["CreateTool", "Search", "IndexNode"])
def test_a_few_errors_among_many_requests_raise_no_alarm(alarms: Resources, name: str) -> None:
    alarm = alarms[f"{name}ErrorsAlarm"]
    rate, *sums = alarm["Metrics"]
    assert rate["Expression"] == "IF(errors >= 3, errors / invocations, 0)"
    assert [(each["Id"], each["MetricStat"]["Metric"]["MetricName"]) for each in sums] == [
        ("errors", "Errors"),
        ("invocations", "Invocations"),
    ]
    assert all(each["MetricStat"]["Stat"] == "Sum" and not each["ReturnData"] for each in sums)
    assert 0 < alarm["Threshold"] < 0.1  # a canary has a tenth of the requests


def test_no_run_of_cleanup_is_an_alarm_and_not_a_lack_of_data(alarms: Resources) -> None:
    alarm = alarms["CleanupSilentAlarm"]
    assert alarm["MetricName"] == "Invocations"
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("LessThanThreshold", 1)
    assert alarm["TreatMissingData"] == "breaching"


def test_every_alarm_tells_whoever_is_to_be_told(alarms: Resources) -> None:
    reported = {"Fn::If": ["Notifies", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]}
    assert {json.dumps(alarm["AlarmActions"]) for alarm in alarms.values()} == {
        json.dumps(reported)
    }


def test_every_alarm_has_a_line_that_says_what_to_do(alarms: Resources) -> None:
    page = (ROOT / "docs/operations.md").read_text()
    assert sorted(re.findall(r"^\| `(\w+Alarm)` \|", page, re.MULTILINE)) == sorted(alarms)


def test_a_bad_version_is_taken_back(resources: Resources, alarms: Resources) -> None:
    groups = of_type(resources, "AWS::CodeDeploy::DeploymentGroup")
    assert len(groups) == 2
    for group in groups.values():
        watched = [alarm["Name"]["Ref"] for alarm in group["AlarmConfiguration"]["Alarms"]]
        assert watched
        assert set(watched) <= alarms.keys()
        assert group["AutoRollbackConfiguration"]["Enabled"] is True


def test_the_dashboard_shows_every_alarm_and_is_json(
    resources: Resources, alarms: Resources
) -> None:
    (dashboard,) = of_type(resources, "AWS::CloudWatch::Dashboard").values()
    text, variables = dashboard["DashboardBody"]["Fn::Sub"]
    _, arns = variables["Alarms"]["Fn::Join"]
    shown = [re.findall(r"\$\{(\w+)\.Arn\}", arn["Fn::Sub"])[0] for arn in arns]
    assert sorted(shown) == sorted(alarms)
    body = json.loads(re.sub(r"\$\{[\w:.]+\}", "x", text.replace("${Alarms}", "")))
    assert all(widget["type"] in {"metric", "alarm"} for widget in body["widgets"])


def test_the_api_has_a_bound_of_its_own(resources: Resources) -> None:
    (stage,) = of_type(resources, "AWS::ApiGatewayV2::Stage").values()
    settings = stage["DefaultRouteSettings"]
    assert settings["ThrottlingRateLimit"] == {"Ref": "ThrottleRate"}
    assert settings["ThrottlingBurstLimit"] == {"Ref": "ThrottleBurst"}


def test_alarms_and_dashboard_show_metrics_that_there_are(
    resources: Resources, alarms: Resources
) -> None:
    (dashboard,) = of_type(resources, "AWS::CloudWatch::Dashboard").values()
    text = dashboard["DashboardBody"]["Fn::Sub"][0].replace("${Alarms}", "")
    body = json.loads(re.sub(r"\$\{[\w:.]+\}", "x", text))
    shown: set[tuple[str, str]] = set()
    for widget in body["widgets"]:
        before: list[str] = []
        for row in widget["properties"].get("metrics", []):
            if row[0] != "...":  # the same metric once more
                before = [
                    old if new == "." else new for new, old in zip(row, before or row, strict=False)
                ]
            if before[0] == "context-search":
                shown.add((before[3], before[1]))
    shown |= {
        (metric["Dimensions"][0]["Value"], metric["MetricName"])
        for alarm in alarms.values()
        for metric in watched(alarm)
        if metric["Namespace"] == "context-search"
    }
    assert len(shown) > 10
    assert [(service, name) for service, name in shown if name not in METRICS[service]] == []
