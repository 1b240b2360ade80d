"""What a process is told when it starts, and what it says when that is not enough."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from context_search.access.authenticate import InternalSecrets
from context_search.core.errors import UnauthenticatedError
from context_search.core.limits import DailyLimits, ProjectBounds, ProjectLimits
from context_search.settings import Settings, SettingsError, TokenSettings

CANARY = "canary-7d1e"
OLD, NEW = "old" * 11, "new" * 11
COMPLETE = {
    "DATABASE_URL": f"postgresql://user:{CANARY}@db/name",
    "QUEUE_URL": "https://sqs/queue",
    "DEAD_LETTER_QUEUE_URL": "https://sqs/dead",
    "TURBOPUFFER_API_KEY": CANARY,
    "TURBOPUFFER_REGION": "aws-us-east-1",
    "EMBEDDING_MODEL": "openai/text-embedding-3-small",
    "EMBEDDING_DIMENSIONS": "1536",
    "INTERNAL_SECRET": CANARY * 3,
    "QUERY_HASH_KEY": CANARY * 3,
}
CALLERS = ("INTERNAL_SECRET", "QUERY_HASH_KEY")


@pytest.mark.parametrize("name", sorted(COMPLETE))
def test_what_is_missing_is_named(name: str) -> None:
    lacking = {key: value for key, value in COMPLETE.items() if key != name}
    with pytest.raises(SettingsError, match=name) as reported:
        Settings.from_environ(lacking)
    assert CANARY not in reported.value.message


@pytest.mark.parametrize(("previous", "good"), [(None, [NEW]), ("", [NEW]), (OLD, [NEW, OLD])])
def test_an_empty_secret_of_before_opens_nothing(previous: str | None, good: list[str]) -> None:
    environ = {**COMPLETE, "INTERNAL_SECRET": NEW}
    if previous is not None:
        environ["INTERNAL_SECRET_PREVIOUS"] = previous
    secrets = InternalSecrets(Settings.from_environ(environ).internal_secrets)
    for secret in good:
        secrets.check(secret)
    for wrong in (None, "", " ", "None", "null", f"{NEW},{OLD}", NEW + OLD):
        with pytest.raises(UnauthenticatedError):
            secrets.check(wrong)


@pytest.mark.parametrize("name", ["INTERNAL_SECRET", "INTERNAL_SECRET_PREVIOUS", "QUERY_HASH_KEY"])
def test_a_secret_that_can_be_guessed_is_refused(name: str) -> None:
    assert Settings.from_environ({**COMPLETE, name: "x" * 32})
    with pytest.raises(SettingsError, match=f"^{name}: .*32 characters") as reported:
        Settings.from_environ({**COMPLETE, name: CANARY.ljust(31, "x")})
    assert CANARY not in reported.value.message


def test_a_function_that_answers_no_requests_opens_to_nobody() -> None:
    queued = {name: value for name, value in COMPLETE.items() if name not in CALLERS}
    settings, another = (
        Settings.from_environ({**queued, "SERVES_HTTP": "false"}) for _ in range(2)
    )
    assert settings.query_hash_key != another.query_hash_key  # random, so nobody can guess it
    for wrong in (None, "", "None", another.internal_secret):
        with pytest.raises(UnauthenticatedError):
            InternalSecrets(settings.internal_secrets).check(wrong)
    with pytest.raises(SettingsError, match=r"^INTERNAL_SECRET is not set; QUERY"):
        Settings.from_environ(queued)


def test_the_precision_of_vectors_is_one_of_two() -> None:
    assert Settings.from_environ(COMPLETE).vector_precision == "f32"
    half = Settings.from_environ({**COMPLETE, "VECTOR_PRECISION": "f16"})
    assert half.vector_precision == "f16"
    with pytest.raises(SettingsError, match="VECTOR_PRECISION"):
        Settings.from_environ({**COMPLETE, "VECTOR_PRECISION": "i8"})


def test_turbopuffer_needs_a_region_or_an_address_and_an_empty_one_is_none() -> None:
    nowhere = {**COMPLETE, "TURBOPUFFER_REGION": "", "TURBOPUFFER_BASE_URL": ""}
    with pytest.raises(SettingsError, match="TURBOPUFFER_BASE_URL"):
        Settings.from_environ(nowhere)
    settings = Settings.from_environ({**nowhere, "TURBOPUFFER_BASE_URL": "http://127.0.0.1:1"})
    assert (settings.turbopuffer_region, settings.turbopuffer_base_url) == (
        None,
        "http://127.0.0.1:1",
    )


def test_the_limits_of_a_project_are_read_as_cloudformation_writes_large_numbers() -> None:
    given = {
        "PROJECT_MAX_CHUNKS": "10",
        "PROJECT_MAX_VECTOR_BYTES": "2.0E10",
        "INDEX_COLD_SECONDS": "60",
    }
    assert Settings.from_environ({**COMPLETE, **given}).project_limits == ProjectLimits(
        max_chunks=10, max_vector_bytes=20_000_000_000, idle_s=60
    )
    assert Settings.from_environ(COMPLETE).project_limits == ProjectLimits()


def test_what_a_project_may_hold_and_spend_is_read_and_nothing_is_no_ceiling() -> None:
    given = {
        "PROJECT_MAX_TABLES": "1",
        "PROJECT_MAX_DOCUMENT_BYTES": "2.0E10",
        "PROJECT_MAX_TOOLS": "3",
        "PROJECT_MAX_KEYS": "4",
        "PROJECT_MAX_MCPS": "6",
        "PROJECT_DAILY_TOKENS": "5",
        "JWT_MAX_KEY_DAYS": "2",
    }
    settings = Settings.from_environ({**COMPLETE, **given})
    assert settings.project_bounds == ProjectBounds(1, 20_000_000_000, 3, 4, 6, 172_800)
    assert settings.daily_limits == DailyLimits(5, None)
    assert Settings.from_environ(COMPLETE).project_bounds == ProjectBounds()
    none = {"PROJECT_DAILY_RERANKS": "0", "JWT_MAX_KEY_DAYS": "0"}
    unlimited = Settings.from_environ({**COMPLETE, **none})
    assert unlimited.daily_limits == DailyLimits()
    assert unlimited.project_bounds == ProjectBounds(token_key_s=None)


def test_the_longest_string_that_is_indexed_is_a_setting() -> None:
    assert Settings.from_environ(COMPLETE).max_node_chars == 50_000_000
    reported = Settings.from_environ({**COMPLETE, "STRING_MAX_CHARS": "5.0E6"})
    assert reported.max_node_chars == 5_000_000


@pytest.mark.parametrize(("given", "read"), [("", False), ("false", False), ("true", True)])
def test_unknown_namespaces_are_deleted_only_when_told(given: str, read: bool) -> None:  # noqa: FBT001
    reported = {**COMPLETE, "DELETE_UNKNOWN_NAMESPACES": given}
    assert Settings.from_environ(reported).delete_unknown_namespaces is read


def test_what_is_neither_true_nor_false_is_refused() -> None:
    with pytest.raises(SettingsError, match="DELETE_UNKNOWN_NAMESPACES"):
        Settings.from_environ({**COMPLETE, "DELETE_UNKNOWN_NAMESPACES": "yes"})


TOKENS = {"JWT_ISSUER": "https://issuer.example/a/", "JWT_AUDIENCE": "https://search.example/mcp"}


def test_no_tokens_are_taken_unless_an_issuer_and_an_audience_are_set() -> None:
    assert Settings.from_environ(COMPLETE).tokens is None
    empty = {"JWT_ISSUER": "", "JWT_AUDIENCE": "", "JWT_PROJECT_CLAIM": "project_id"}
    assert Settings.from_environ({**COMPLETE, **empty}).tokens is None
    known = TokenSettings(
        "https://issuer.example/a/", ("https://search.example/mcp",), "project_id"
    )
    assert Settings.from_environ({**COMPLETE, **TOKENS}).tokens == known
    reported = {**COMPLETE, **TOKENS, "JWT_PROJECT_CLAIM": "https://search.example/project"}
    reported["JWT_AUDIENCE"] = "https://search.example https://search.example/mcp"
    tokens = Settings.from_environ(reported).tokens
    assert tokens is not None
    assert tokens.audiences == ("https://search.example", "https://search.example/mcp")
    assert tokens.project_claim == "https://search.example/project"


@pytest.mark.parametrize("name", sorted(TOKENS))
def test_an_issuer_without_an_audience_and_the_reverse_are_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="JWT_ISSUER and JWT_AUDIENCE"):
        Settings.from_environ({**COMPLETE, **TOKENS, name: ""})


@pytest.mark.parametrize(
    "issuer",
    ["http://issuer.example", "issuer.example", "https://issuer.example?a=1", "file:///keys", "x"],
)
def test_an_issuer_is_an_https_address(issuer: str) -> None:
    with pytest.raises(SettingsError, match="JWT_ISSUER"):
        Settings.from_environ({**COMPLETE, **TOKENS, "JWT_ISSUER": issuer})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EMBEDDING_DIMENSIONS", f"{CANARY}"),
        ("EMBEDDING_DIMENSIONS", "0"),
        ("EMBEDDING_DIMENSIONS", "1.5"),
        ("EMBEDDING_DIMENSIONS", "inf"),
        ("EMBEDDING_PRICE", "-1"),
        ("RERANK_TIMEOUT_MS", "0"),
        ("SILENT_AFTER_SECONDS", "nan"),
        ("SILENT_AFTER_SECONDS", "1e999"),
        ("INDEX_CONCURRENCY", "0"),
        ("STRING_MAX_CHARS", "-7"),
        ("EMBEDDING_QUERY_PARAMS", f'["{CANARY}"]'),
        ("EMBEDDING_PASSAGE_PARAMS", f'{{"{CANARY}'),
    ],
)
def test_a_value_out_of_its_bounds_is_named_and_not_shown(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name}: ") as reported:
        Settings.from_environ({**COMPLETE, name: value})
    assert CANARY not in reported.value.message
    assert reported.value.__cause__ is None


def test_reranking_models_are_of_one_provider_as_there_is_one_key() -> None:
    assert Settings.from_environ(COMPLETE).rerank_models == ()
    two = {**COMPLETE, "RERANK_MODELS": "cohere/rerank-v3.5 cohere/rerank-multilingual-v3.0"}
    models = Settings.from_environ(two).rerank_models
    assert models == ("cohere/rerank-v3.5", "cohere/rerank-multilingual-v3.0")
    with pytest.raises(SettingsError, match="RERANK_MODELS"):
        Settings.from_environ({**two, "RERANK_MODELS": "cohere/rerank-v3.5 voyage/rerank-2.5"})


def test_all_that_is_wrong_is_said_at_once() -> None:
    lacking = {key: value for key, value in COMPLETE.items() if key != "QUEUE_URL"}
    with pytest.raises(SettingsError, match=r"QUEUE_URL is not set; INDEX_CONCURRENCY: "):
        Settings.from_environ({**lacking, "INDEX_CONCURRENCY": "many"})


def test_an_empty_variable_is_none_and_a_field_is_no_variable() -> None:
    empty = dict.fromkeys(("EMBEDDING_API_KEY", "INDEX_CONCURRENCY", "UPLOAD_BUCKET"), "")
    lower = {"index_concurrency": "9", "jwt_issuer": "x"}
    reported = Settings.from_environ({**COMPLETE, **empty, **lower})
    assert reported == Settings.from_environ(COMPLETE)
    assert (reported.embedding_api_key, reported.index_concurrency, reported.tokens) == (
        None,
        8,
        None,
    )


def test_every_setting_is_documented() -> None:
    page = (Path(__file__).parents[1] / "docs/operations.md").read_text("utf-8")
    documented = set(re.findall(r"`([A-Z_]+)`", page))
    read = {field.validation_alias for field in Settings.model_fields.values()}
    assert read - documented == set()


def test_no_secret_is_in_what_a_log_would_show() -> None:
    assert CANARY not in repr(Settings.from_environ(COMPLETE))


@pytest.mark.parametrize(
    ("schedule", "seconds"),
    [
        *(("rate(1 minute)", 60), ("rate(5 minutes)", 300), ("rate(2 hours)", 7_200)),
        *(("cron(0 * * * ? *)", 0), ("", 0)),
    ],
)
def test_a_schedule_that_is_a_rate_tells_how_often_cleanup_runs(
    schedule: str, seconds: float
) -> None:
    assert (
        Settings.from_environ({**COMPLETE, "CLEANUP_SCHEDULE": schedule}).cleanup_every_s == seconds
    )


ADDRESSES = ("TURBOPUFFER_BASE_URL", "EMBEDDING_API_BASE", "RERANK_API_BASE")


@pytest.mark.parametrize("name", ADDRESSES)
def test_a_provider_beyond_this_machine_is_asked_over_https(name: str) -> None:
    for safe in ("https://vllm.internal/v1", "http://127.0.0.1:8080/v1", "http://localhost:1"):
        Settings.from_environ({**COMPLETE, name: safe})
    for plain in ("http://vllm.internal/v1", "http://10.0.0.7:8000", "ftp://127.0.0.1", "vllm:80"):
        with pytest.raises(SettingsError, match=f"{name}.*ALLOW_PLAIN_PROVIDERS") as reported:
            Settings.from_environ({**COMPLETE, name: plain})
        assert plain not in reported.value.message
        Settings.from_environ({**COMPLETE, name: plain, "ALLOW_PLAIN_PROVIDERS": "true"})


@pytest.mark.parametrize("name", ["EMBEDDING_QUERY_PARAMS", "EMBEDDING_PASSAGE_PARAMS"])
@pytest.mark.parametrize(
    "params",
    [
        '{"api_key": "%s"}',
        '{"extra_headers": {"Authorization": "Bearer %s"}}',
        '{"extra_body": {"client-secret": "%s"}}',
        '{"extra_body": {"list": [{"hf_token": "%s"}]}}',
        '{"aws_secret_access_key": "%s"}',
    ],
)
def test_a_credential_among_the_parameters_is_refused(name: str, params: str) -> None:
    with pytest.raises(SettingsError, match=f"{name}.*EMBEDDING_API_KEY") as reported:
        Settings.from_environ({**COMPLETE, name: params % CANARY})
    assert CANARY not in reported.value.message


def test_a_count_of_tokens_is_no_credential() -> None:
    given = '{"extra_body": {"truncate_prompt_tokens": 512, "keywords": true}}'
    params = Settings.from_environ({**COMPLETE, "EMBEDDING_QUERY_PARAMS": given})
    assert params.embedding_query_params["extra_body"]


@pytest.mark.parametrize(
    "url",
    [
        "https://search.example",
        "https://search.example:8443",
        "http://127.0.0.1:80",
        "http://[::1]",
    ],
)
def test_a_deployment_knows_where_people_open_it(url: str) -> None:
    assert Settings.from_environ({**COMPLETE, "PUBLIC_URL": url}).public_url == url
    assert Settings.from_environ({**COMPLETE, "PUBLIC_URL": ""}).public_url is None


@pytest.mark.parametrize(
    "url",
    [
        "search.example",
        "http://search.example",
        "https://",
        "https://search.example/",
        "https://search.example/prod",
        "https://search.example?a=b",
        "https://search.example#a",
        "https://user@search.example",
        "https://search.example ",
        "https://search.example\n",
        "https://{host}",
        "javascript:alert(1)",
    ],
)
def test_an_address_that_is_more_than_a_place_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="PUBLIC_URL is not an https address without a path"):
        Settings.from_environ({**COMPLETE, "PUBLIC_URL": url})
