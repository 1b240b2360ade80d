"""The project of ``make serve``, over databases that come and go."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from context_search.access.authenticate import KeyAuthenticator
from context_search.access.keys import ManageKeys, page_of_keys
from context_search.core.callers import Operator
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from context_search.store import PostgresStore
from local.default_project import default_project
from tests.stack import DatabaseFactory


@pytest.fixture
def urls(postgres_url: str, databases: DatabaseFactory) -> Iterator[list[str]]:
    """Two databases with the shipped schema."""
    with databases.migrated() as one, databases.migrated() as other:
        at = urlsplit(postgres_url)
        yield [at._replace(path=f"/{url.database}").geturl() for url in (one, other)]


def test_the_key_of_a_database_that_was_taken_away_is_kept_and_works_again(
    urls: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "project.json"
    first = default_project(urls[0], file)["api_key"]
    assert capsys.readouterr().out == ""
    second = default_project(urls[1], file)["api_key"]
    line = "the remembered key is not known to this database: made project 1; it stays in"
    assert capsys.readouterr().out == f"{line} project.json\n"
    assert second != first
    assert default_project(urls[0], file)["api_key"] == first
    assert capsys.readouterr().out == ""
    kept = json.loads(file.read_text())
    assert (kept["api_key"], [each["api_key"] for each in kept["earlier"]]) == (first, [second])


def test_a_project_whose_key_was_revoked_gets_another_one(
    urls: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "project.json"
    project_id = default_project(urls[0], file)["project_id"]
    with closing(Database(DatabaseUrl.parse(urls[0]))) as database:
        store, owner = PostgresStore(database), Operator(project_id)
        with store.for_project(project_id) as work:
            [key] = page_of_keys(work, owner, None, after=0).rows
        ManageKeys(store).revoke(owner, None, key.id)
        second = default_project(urls[0], file)
        assert KeyAuthenticator(store).caller_of(second["api_key"]).project_id == project_id
    line = "the remembered key is good no more: made another for project 1\n"
    assert capsys.readouterr().out == line
    assert json.loads(file.read_text()) == {"project_id": 1, "api_key": second["api_key"]}
