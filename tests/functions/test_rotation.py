"""New passwords and keys in the secret reach environments that run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

import boto3
import pytest

from context_search.composition.parts import parts
from context_search.core.config import IndexConfig
from context_search.integrations.live_settings import MAX_AGE, PAUSE, RETRY
from context_search.postgres.connection import Connection
from context_search.postgres.url import DatabaseUrl
from testing.in_memory.clock import ManualClock
from tests.functions.deployment import (
    SECRET,
    SECRET_VALUES,
    Deployment,
    end_process,
    load_functions,
)
from tests.integrations.openai_server import OpenAiServer
from tests.integrations.scripted_embeddings import vector
from tests.integrations.test_renewed_key import NEW as TURBOPUFFER_NEW
from tests.integrations.test_renewed_key import KeyedServer
from tests.stack import DatabaseFactory

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words")]
NEW = "canary-91b7-new-of-32-characters-or-more"


@dataclass
class Rotating:
    """The functions with a secret and a database role that a test changes."""

    deployed: Deployment
    arn: str
    url: DatabaseUrl
    secrets: Any
    owner: Connection
    clock: ManualClock = field(default_factory=ManualClock)

    def put(self, **changed: str) -> None:
        """Lays other values over the secret."""
        known = json.loads(self.secrets.get_secret_value(SecretId=self.arn)["SecretString"])
        self.secrets.put_secret_value(SecretId=self.arn, SecretString=json.dumps(known | changed))

    def put_whole(self, **changed: str) -> None:
        """Makes the secret anew."""
        values = {**SECRET_VALUES, "database_url": self.url_with("choose one"), **changed}
        self.secrets.put_secret_value(SecretId=self.arn, SecretString=json.dumps(values))

    def url_with(self, password: str) -> str:
        """The role's URL with another password."""
        host = f"{self.url.host}:{self.url.port}"
        return f"postgresql://{self.url.user}:{quote(password)}@{host}/{self.url.database}"

    def change_password(self, password: str) -> None:
        """In Postgres only; who is connected has to log in again."""
        self.owner.query(f"ALTER ROLE {self.url.user} PASSWORD '{password}'")
        self.owner.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = :name",
            {"name": self.url.user},
        )

    def ask(self) -> int:
        """The status of a request that needs the database: 401 where that answers, else 503."""
        return int(self.deployed.http("GET", "/api/v1/tables/1", key="x")["statusCode"])

    def project(self, secret: str) -> int:
        """The status of a request with an internal secret."""
        headers = {"x-internal-secret": secret}
        answer = self.deployed.http("POST", "/api/v1/projects", {"name": "p"}, headers=headers)
        return int(answer["statusCode"])

    def wait(self) -> None:
        """Lets so much time pass that the secret may be read again after a refusal."""
        self.clock.advance(PAUSE.total_seconds())


@pytest.fixture
def rotating(
    deployed: Deployment, databases: DatabaseFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Rotating]:
    secrets = boto3.client("secretsmanager")
    owner_url = parts().postgres.database._url
    owner = Connection(owner_url, timeout_s=60.0)
    with databases.application_of(owner_url) as url:
        fresh = replace(deployed, functions=load_functions())
        made = Rotating(fresh, "", url, secrets, owner)
        values = {**SECRET_VALUES, "database_url": made.url_with("choose one")}
        made.arn = secrets.create_secret(Name=url.user, SecretString=json.dumps(values))["ARN"]
        for name in values:
            monkeypatch.delenv(name.upper(), raising=False)
        monkeypatch.setenv("SECRETS_ARN", made.arn)
        usual = parts()
        parts.cache_clear()
        parts().clock = made.clock
        parts()._read_at = made.clock.now()
        yield made
        end_process()
        usual.postgres.database.close()
    owner.close()


def test_a_new_password_is_used_by_the_request_that_meets_the_refusal(rotating: Rotating) -> None:
    assert rotating.ask() == 401
    rotating.change_password("another one")
    rotating.put(database_url=rotating.url_with("another one"))
    assert rotating.ask() == 401


def test_a_password_that_changes_before_the_secret_does_is_met_once_it_has(
    rotating: Rotating,
) -> None:
    rotating.change_password("another one")
    refused = rotating.deployed.http("GET", "/api/v1/tables/1", key="x")
    assert (refused["statusCode"], refused["json"]["retryable"]) == (503, True)
    rotating.put(database_url=rotating.url_with("another one"))
    assert rotating.ask() == 503  # the secret was read a moment ago
    rotating.wait()
    assert rotating.ask() == 401


def test_a_secret_that_is_broken_for_a_while_changes_nothing(rotating: Rotating) -> None:
    rotating.secrets.put_secret_value(SecretId=rotating.arn, SecretString="{")
    rotating.clock.advance(MAX_AGE.total_seconds())
    assert rotating.project(SECRET) == 201
    rotating.put_whole(internal_secret=NEW)
    assert rotating.project(SECRET) == 201  # not asked for again for a minute
    rotating.clock.advance(RETRY.total_seconds())
    assert rotating.project(SECRET) == 401


def test_a_new_internal_secret_is_taken_at_once_and_the_old_one_goes_with_the_age(
    rotating: Rotating,
) -> None:
    assert rotating.project(SECRET) == 201
    rotating.put(internal_secret=NEW)
    assert rotating.project(NEW) == 201
    assert rotating.project(SECRET) == 401
    rotating.wait()
    rotating.put(internal_secret=SECRET)
    rotating.clock.advance(MAX_AGE.total_seconds())
    assert rotating.project(SECRET) == 201
    assert rotating.project(NEW) == 401


def test_wrong_internal_secrets_do_not_make_the_secret_be_read_again_and_again(
    rotating: Rotating,
) -> None:
    assert rotating.project("wrong") == 401
    rotating.put(internal_secret=NEW)
    assert [rotating.project(each) for each in ("wrong", NEW, "wrong", NEW)] == [401] * 4
    rotating.wait()
    assert rotating.project(NEW) == 201


def test_a_new_key_for_the_hash_of_questions_comes_with_the_age(rotating: Rotating) -> None:
    before = parts().hash_of("question")
    rotating.put(query_hash_key=NEW)
    assert parts().hash_of("question") == before
    rotating.clock.advance(MAX_AGE.total_seconds())
    assert parts().hash_of("question") != before


def test_new_keys_reach_turbopuffer_and_the_model(
    rotating: Rotating, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, store = OpenAiServer(), KeyedServer(401)
    model.accepted = NEW
    with model.running() as model_url, store.running() as store_url:
        monkeypatch.setenv("EMBEDDING_API_BASE", model_url)
        monkeypatch.setenv("TURBOPUFFER_BASE_URL", store_url)
        parts.cache_clear()
        vectors = parts().vectors
        embedder = parts().embedder_of(IndexConfig("openai/text-embedding-3-small", 3))
        rotating.put(turbopuffer_api_key=TURBOPUFFER_NEW, embedding_api_key=NEW)
        assert vectors.namespaces_after("project_", "", 10) == ["project_1"]
        assert embedder.embed_query("a", timeout_s=30) == vector(1)
    old = str(SECRET_VALUES["turbopuffer_api_key"])
    assert store.keys == [old, TURBOPUFFER_NEW]
    assert [key for _, key in model.requests] == [
        f"Bearer {SECRET_VALUES['embedding_api_key']}",
        f"Bearer {NEW}",
    ]
