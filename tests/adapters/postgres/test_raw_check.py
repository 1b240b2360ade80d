"""A document without a literal is known by its JSON text, as Postgres writes it."""

from __future__ import annotations

import json

import pytest

from context_search.adapters.postgres.pool import Database
from context_search.domain.documents import parse_stored, strings_at
from context_search.domain.editing.replacing import ReplaceRequest
from context_search.services.editing.find_edits import cannot_match

pytestmark = pytest.mark.stack

CHARACTERS = [chr(code) for code in range(1, 0x10000) if not 0xD800 <= code < 0xE000]


def written(database: Database, document: object) -> str:
    """A document's text, as Postgres writes it."""
    with database.transaction() as tx:
        [[text]] = tx.run("SELECT CAST(CAST(:text AS jsonb) AS text)", text=json.dumps(document))
    return str(text)


def test_postgres_escapes_what_we_escape(module_database: Database) -> None:
    text = written(module_database, CHARACTERS)
    assert text == json.dumps(CHARACTERS, ensure_ascii=False)


@pytest.mark.parametrize(
    "find", ['"', "\\", "\n", "\t\u0001", '\\"', "/", "\x7f", "\u2028", "é", "e\u0301", "😀", "林"]
)
def test_no_document_with_a_literal_is_passed_over(module_database: Database, find: str) -> None:
    string = f"before{find}after"
    document = {"a": ["x", string], "n": 1}
    text = written(module_database, document)
    assert not cannot_match(ReplaceRequest(find, ""), text)
    assert cannot_match(ReplaceRequest(find + "#", ""), text)
    assert [found.text for found in strings_at(parse_stored(text), [""])] == ["x", string]
