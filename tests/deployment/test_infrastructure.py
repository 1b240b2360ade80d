"""The templates of a network and a database fit the product's, and keep data to themselves."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from local.cloudformation import load, read
from local.options import ROOT

DATABASES = ["aurora", "rds"]


def template(name: str) -> dict[str, Any]:
    """One of the templates in infrastructure/."""
    return load(ROOT / "infrastructure" / f"{name}.yaml")


def properties(found: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """The properties of every resource of one type."""
    resources = found["Resources"].values()
    return [each["Properties"] for each in resources if each["Type"] == kind]


@pytest.mark.parametrize("name", DATABASES)
def test_the_database_is_encrypted_private_and_outlives_a_mistake(name: str) -> None:
    found = template(name)
    [instance] = properties(found, "AWS::RDS::DBInstance")
    stores = properties(found, "AWS::RDS::DBCluster") or [instance]
    assert instance["PubliclyAccessible"] is False
    for store in stores:
        assert store["StorageEncrypted"] is True
        assert store["ManageMasterUserPassword"] is True
        assert store["BackupRetentionPeriod"] >= 7
        assert store["DeletionProtection"] == "true"


@pytest.mark.parametrize("name", DATABASES)
def test_only_the_functions_and_the_proxy_may_connect(name: str) -> None:
    found = template(name)
    [group] = properties(found, "AWS::EC2::SecurityGroup")
    sources = [rule["SourceSecurityGroupId"] for rule in group["SecurityGroupIngress"]]
    rules = properties(found, "AWS::EC2::SecurityGroupIngress")
    sources += [rule["SourceSecurityGroupId"] for rule in rules]
    assert all(source["Ref"] in {"FunctionsSecurityGroupId", "DatabaseSecurityGroup"}
               for source in sources)  # fmt: skip
    assert not any("CidrIp" in rule for rule in [*group["SecurityGroupIngress"], *rules])


@pytest.mark.parametrize("name", DATABASES)
def test_what_the_network_gives_is_what_the_database_and_the_functions_take(name: str) -> None:
    given = template("network")["Outputs"].keys()
    assert given == {"VpcId", "SubnetIds", "FunctionsSecurityGroupId"}
    assert given <= template(name)["Parameters"].keys()
    taken = load(ROOT / "template.yaml")["Parameters"]
    assert {"VpcSubnetIds", "VpcSecurityGroupIds"} <= taken.keys()
    assert {"Endpoint", "OwnerSecretArn"} <= template(name)["Outputs"].keys()


def test_a_database_that_may_sleep_ends_the_sessions_of_frozen_functions() -> None:
    """An open connection keeps it awake, and Lambda keeps environments for hours."""
    found = template("aurora")
    usual = found["Parameters"]["MinCapacity"]["Default"]
    assert found["Conditions"]["Sleeps"] == {"Fn::Equals": [usual, 0]}
    group = found["Resources"]["SleepParameters"]
    assert group["Condition"] == "Sleeps"
    assert 0 < int(group["Properties"]["Parameters"]["idle_session_timeout"]) <= 60_000
    [cluster] = properties(found, "AWS::RDS::DBCluster")
    family = group["Properties"]["Family"]
    assert family == f"aurora-postgresql{cluster['EngineVersion'].split('.')[0]}"
    chosen = cluster["DBClusterParameterGroupName"]["Fn::If"]
    assert chosen == ["Sleeps", {"Ref": "SleepParameters"}, {"Ref": "AWS::NoValue"}]


def test_what_a_sleeping_database_asks_of_the_functions_are_parameters_of_theirs() -> None:
    reported = template("aurora")["Parameters"]["MinCapacity"]["Description"]
    named = {"CleanupIdleMinutes", "DatabaseConnectSeconds"}
    assert all(name in reported for name in named)
    assert named <= load(ROOT / "template.yaml")["Parameters"].keys()


@pytest.mark.parametrize("name", DATABASES)
def test_the_log_of_the_database_is_kept_outside_of_it(name: str) -> None:
    found = template(name)
    [instance] = properties(found, "AWS::RDS::DBInstance")
    [store] = properties(found, "AWS::RDS::DBCluster") or [instance]
    assert store["EnableCloudwatchLogsExports"] == ["postgresql"]


@pytest.mark.parametrize(("name", "role"), [("rds", "ProxyRole"), ("network", "FlowLogRole")])
def test_a_service_takes_a_role_for_this_account_only(name: str, role: str) -> None:
    document = template(name)["Resources"][role]["Properties"]["AssumeRolePolicyDocument"]
    [statement] = document["Statement"]
    account = {"Ref": "AWS::AccountId"}
    assert statement["Condition"] == {"StringEquals": {"aws:SourceAccount": account}}


def test_the_way_to_s3_around_the_gateway_leads_to_uploads_of_this_account() -> None:
    [endpoint] = properties(template("network"), "AWS::EC2::VPCEndpoint")
    [statement] = endpoint["PolicyDocument"]["Statement"]
    arns = {each["Fn::Sub"].split(":::")[1] for each in statement["Resource"]}
    assert arns == {"${UploadBuckets}", "${UploadBuckets}/*"}
    account = {"Ref": "AWS::AccountId"}
    assert statement["Condition"] == {"StringEquals": {"aws:ResourceAccount": account}}


def test_the_bucket_of_a_stack_with_the_usual_name_is_on_that_way() -> None:
    usual = read(ROOT / "infrastructure/network.yaml")["Parameters"]["UploadBuckets"]["Default"]
    stack = tomllib.loads((ROOT / "samconfig.toml").read_text("utf-8"))
    name = stack["default"]["global"]["parameters"]["stack_name"]
    [bucket] = [
        logical_id
        for logical_id, each in load(ROOT / "template.yaml")["Resources"].items()
        if each["Type"] == "AWS::S3::Bucket" and "BucketName" not in each["Properties"]
    ]
    assert usual == f"{name}-{bucket.lower()}-*"  # as CloudFormation names it


def test_who_spoke_with_whom_is_logged_for_some_days_unless_somebody_says_otherwise() -> None:
    written = read(ROOT / "infrastructure/network.yaml")
    assert 1 <= written["Parameters"]["FlowLogDays"]["Default"] <= 30
    never = {"Fn::Not": [{"Fn::Equals": [{"Ref": "FlowLogDays"}, 0]}]}
    assert written["Conditions"]["LogsFlows"] == never
    made = {name: written["Resources"][name] for name in ("FlowLog", "FlowLogGroup", "FlowLogRole")}
    assert {each["Condition"] for each in made.values()} == {"LogsFlows"}
    log, group = made["FlowLog"]["Properties"], made["FlowLogGroup"]["Properties"]
    assert (log["ResourceId"], log["TrafficType"]) == ({"Ref": "Vpc"}, "ALL")
    assert log["LogGroupName"] == {"Ref": "FlowLogGroup"}
    assert group["RetentionInDays"] == {"Ref": "FlowLogDays"}
