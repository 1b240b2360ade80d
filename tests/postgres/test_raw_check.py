"""A document without a literal is known by its JSON text, as Postgres writes it."""

from __future__ import annotations

import json

import pytest

from context_search.postgres.pool import Database

pytestmark = pytest.mark.stack

CHARACTERS = [chr(code) for code in range(1, 0x10000) if not 0xD800 <= code < 0xE000]


def test_postgres_escapes_what_we_escape(module_database: Database) -> None:
    with module_database.transaction() as tx:
        [[text]] = tx.run("SELECT CAST(CAST(:text AS jsonb) AS text)", text=json.dumps(CHARACTERS))
    assert text == json.dumps(CHARACTERS, ensure_ascii=False)
