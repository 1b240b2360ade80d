"""Tables of another program have columns of every name that our statements use."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from context_search import postgres
from context_search.integrations.ports import Deadline
from context_search.maintenance.rules.health import CleanupLimits
from context_search.postgres.adoption import SHARED
from context_search.postgres.pool import Database
from tests.adopter import ROWS, prepare
from tests.builders import english, planted
from tests.web.access.matrix import ROWS as OPERATIONS
from tests.web.access.matrix import ids_of, request_of
from tests.web.access.things import things_of
from tests.web.api import Api, LocalParts, answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from context_search.postgres.url import DatabaseUrl
    from tests.stack import DatabaseFactory

_COLUMNS = """
    SELECT DISTINCT attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    WHERE relnamespace IN (to_regnamespace('context_search'), to_regnamespace('public'))
      AND relkind IN ('r', 'v') AND attnum > 0 AND NOT attisdropped
"""
_LAST = ("GET", "POST", "PUT", "PATCH", "DELETE")


def names(database: Database) -> set[str]:
    """Every column of our tables and views, and every name that a statement gives to something."""
    with database.transaction() as tx:
        found = {name for [name] in tx.run(_COLUMNS)}
    folder = Path(postgres.__file__).parent
    for file in [*folder.rglob("*.py"), *folder.rglob("*.sql")]:
        found.update(re.findall(r"\bAS ([a-z_]+)\b", file.read_text("utf-8")))
    return found


@pytest.fixture(scope="module")
def owner_url(databases: DatabaseFactory) -> Iterator[DatabaseUrl]:
    """His database, migrated; his columns were there before ours."""
    with databases.migrated() as url:
        migrated = Database(url)
        taken = names(migrated)
        migrated.close()
    with databases.empty() as url:
        more = [
            f"""ALTER TABLE {table} ADD COLUMN IF NOT EXISTS "{name}" text DEFAULT 'his'"""
            for table, shared in SHARED.items()
            for name in sorted(taken - set(shared.columns))
        ]
        assert len(more) > 300
        prepare(url, statements=[*more, *ROWS])
        yield url


@pytest.fixture(scope="module")
def owner(owner_url: DatabaseUrl) -> Iterator[Database]:
    opened = Database(owner_url)
    yield opened
    opened.close()


def clean_up(parts: LocalParts) -> None:
    """Everything that cleanup ever does, at once."""
    limits = CleanupLimits(silent_s=0, grace_s=0, keep_previous_s=0)
    cleanup = replace(parts.use_cases.cleanup, limits=limits)
    for _ in range(3):
        report = cleanup.run(Deadline(parts.clock, parts.clock.monotonic() + 120))
        assert report.errors == []
        parts.work()


def test_a_document_goes_all_its_way(api: Api, parts: LocalParts, owner: Database) -> None:
    sentence = "The lighthouse keeper counts herons."
    table = api.table({"a": planted(english(400), sentence, 200), "b": english(60, 1)})
    tool, other = api.tool(table), api.tool(table, name="other", json_path="/b")
    api.tool(api.table({"a": sentence}), name="elsewhere")
    answer(api("POST", f"/api/v1/projects/{api.project_id}/search-index"), 202)
    parts.work()
    question = "lighthouse keeper counts herons"
    assert found(api, tool, question)[0] == ("/a", True)
    assert {pointer for pointer, _ in found(api, other, question)} == {""}
    whole = {"query": question}
    path = f"/api/v1/projects/{api.project_id}/search"
    assert len(answer(api("POST", path, json=whole), 200)["results"]) > 1
    change = {"a": english(300, 2), "b": english(60, 1)}
    answer(api("PUT", f"/api/v1/tables/{table['id']}/data", json=change), 200)
    parts.work()
    assert not any(is_it for _, is_it in found(api, tool, question))
    clean_up(parts)
    assert {pointer for pointer, _ in found(api, tool, "harbour")} == {"/a", "/b"}
    assert api("DELETE", f"/api/v1/tools/{other['tool_id']}").status_code == 204
    assert api("DELETE", f"/api/v1/tables/{table['id']}").status_code == 204
    parts.work()
    clean_up(parts)
    with owner.transaction() as tx:
        left = tx.run("SELECT count(*) FROM chunks WHERE table_id = :table", table=table["id"])
        rows = tx.run("SELECT count(*) FROM context_table WHERE id = :table", table=table["id"])
    assert (left, rows) == ([[0]], [[0]])
    assert len(answer(api("POST", path, json=whole), 200)["results"]) == 1


def found(api: Api, tool: dict[str, Any], query: str) -> list[tuple[str, bool]]:
    """Where each hit is, and whether it has the sentence."""
    hits = api.search(tool, query)["results"]
    return [(hit["json_path"], "lighthouse" in hit["chunk"]["chunk_text"]) for hit in hits]


def test_every_route_answers(api: Api, parts: LocalParts) -> None:
    ids = things_of(api, parts.work)
    statuses = {}
    for operation in sorted(OPERATIONS, key=lambda one: (_LAST.index(one[0]), one[1])):
        request = request_of(operation, ids_of(operation, ids))
        call = api.internally if "internal secret" in OPERATIONS[operation].opened_by else api
        statuses[operation] = call(**request).status_code
    parts.work()
    assert {key: status for key, status in statuses.items() if status >= 500} == {}
    clean_up(parts)
