"""The deployed functions as Lambda runs them, on real parts.

PostgreSQL, the local turbopuffer server and moto's SQS are other processes or threads; the
embedding model is litellm's custom provider ``words``.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from context_search.composition.parts import parts
from tests.builders import aws_server
from tests.functions.deployment import CANARY, Deployment, end_process, listening, register_words
from tests.stack import DatabaseFactory


@pytest.fixture(scope="session")
def aws() -> Iterator[dict[str, str]]:
    with aws_server() as environment:
        yield environment


@pytest.fixture(scope="module")
def deployed(
    databases: DatabaseFactory, postgres_url: str, turbopuffer_url: str, aws: dict[str, str]
) -> Iterator[Deployment]:
    """The four functions with an environment of their own, for the tests of one file."""
    with databases.migrated() as url, pytest.MonkeyPatch.context() as patch:
        database_url = urlsplit(postgres_url)._replace(path=f"/{url.database}").geturl()
        made = Deployment.of(aws, database_url, turbopuffer_url)
        for name, value in made.environment.items():
            patch.setenv(name, value)
        parts.cache_clear()
        register_words()
        yield made
        end_process()


@pytest.fixture
def words() -> None:
    """Other tests of this process register providers of their own in litellm."""
    register_words()


@pytest.fixture
def log(deployed: Deployment) -> Iterator[list[str]]:
    """The lines that the functions have logged in a test; none of them tells a secret."""
    lines: list[str] = []
    with listening(lines):
        yield lines
    reported = "\n".join(lines)
    assert CANARY not in reported
    assert "cs_" not in reported  # how every key begins
