"""The bucket of uploads: closed, encrypted, forgotten after a day."""

from __future__ import annotations

from context_search.catalog.rules.uploads import FUNCTION_BYTES, MEMORY_A_BYTE, import_memory
from local.cloudformation import load
from local.options import ROOT
from tests.deployment.cloudformation import Resources, chosen, of_type


def bucket(resources: Resources) -> dict[str, object]:
    """The properties of the one bucket."""
    (properties,) = of_type(resources, "AWS::S3::Bucket").values()
    return properties


def test_the_bucket_is_encrypted_and_closed_to_the_public(resources: Resources) -> None:
    properties = bucket(resources)
    assert chosen(properties["BucketEncryption"]) == {
        "ServerSideEncryptionConfiguration": [
            {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
        ]
    }
    blocked = properties["PublicAccessBlockConfiguration"]
    assert isinstance(blocked, dict)
    assert (len(blocked), set(blocked.values())) == (4, {True})


def test_an_object_is_forgotten_after_a_day(resources: Resources) -> None:
    lifecycle = bucket(resources)["LifecycleConfiguration"]
    assert isinstance(lifecycle, dict)
    (rule,) = lifecycle["Rules"]
    assert (rule["Status"], rule["ExpirationInDays"]) == ("Enabled", 1)
    assert "Prefix" not in rule


def test_browsers_may_only_put_and_only_from_the_known_origins(resources: Resources) -> None:
    own, others = bucket(resources)["CorsConfiguration"]["CorsRules"]  # type: ignore[index]
    assert own.pop("AllowedOrigins") == [
        {"Fn::Sub": "https://*.execute-api.${AWS::Region}.${AWS::URLSuffix}"}
    ]
    condition, rule, none = others["Fn::If"]
    assert (condition, none) == ("HasOrigins", {"Ref": "AWS::NoValue"})
    assert rule.pop("AllowedOrigins") == {"Fn::Split": [" ", {"Ref": "AllowedOrigins"}]}
    assert own == rule
    assert rule["AllowedMethods"] == ["PUT"]


def test_nothing_travels_in_the_clear(resources: Resources) -> None:
    (policy,) = of_type(resources, "AWS::S3::BucketPolicy").values()
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Principal"]) == ("Deny", "*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_every_function_knows_the_bucket_by_its_reference(functions: Resources) -> None:
    for properties in functions.values():
        assert properties["Environment"]["Variables"]["UPLOAD_BUCKET"] == {"Ref": "UploadBucket"}


def test_the_function_that_imports_has_the_memory_for_it(functions: Resources) -> None:
    assert functions["IndexNodeFunction"]["MemorySize"] == {"Ref": "IndexMemory"}


def test_the_largest_document_fits_into_that_memory() -> None:
    parameters = load(ROOT / "template.yaml")["Parameters"]
    upload, memory = parameters["UploadMaxBytes"], parameters["IndexMemory"]
    assert import_memory(int(upload["Default"])) <= int(memory["Default"]) << 20
    assert f"{MEMORY_A_BYTE} times" in upload["Description"]
    assert f"{FUNCTION_BYTES // 1_000_000} MB" in upload["Description"]
