"""docs/adopt.md, command by command: the database of somebody else, from migrate to the end."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from context_search.postgres.connection import Connection
from local.options import ROOT, StackOptions
from local.stack import Stack
from tests.adopter import SCHEMA
from tests.builders import until
from tests.e2e.running import PATIENCE, state_folder, user_environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from context_search.postgres.url import DatabaseUrl

_BLOCK = re.compile(r"^```(sh|sql)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_SHELL = """
set -eu
curl() { command curl --silent --show-error --noproxy '*' "$@"; }
make() {  # migrate, with or without DRY_RUN=1
    "$PYTHON" -m context_search.postgres.migrations \
        --database-url "$DATABASE_URL" ${2:+--dry-run}
}
. ./said
"""
_COUNT = "SELECT count(*) FROM context_search.index_generation"
_LONG = "'a harbour at the end of the season. '"
ROWS = [
    "INSERT INTO project (name) VALUES ('first'), (NULL)",
    f"""
    INSERT INTO context_table (project_id, name, data, deleted_at) VALUES
        (1, NULL, jsonb_build_object('a', repeat({_LONG}, 400)), NULL),
        (1, 'in the trash', '{{"precious": 1}}', now()), (NULL, 'of nobody', '{{}}', now())
    """,
    """
    INSERT INTO tool (table_id, json_path, type, name) VALUES (1, NULL, 'search', 'letters'),
        (1, 'a.b', 'search', 'dotted'), (2, '', 'search', 'trash'), (1, '', 'query_data', 'query'),
        (NULL, '', 'search', 'drafts')
    """,
]


def blocks() -> Iterator[tuple[str, str]]:
    """Language and text of each block of commands, in order."""
    yield from _BLOCK.findall((ROOT / "docs/adopt.md").read_text("utf-8"))


@dataclass
class Reader:
    """Somebody who does what the page says, in one folder and on one database."""

    folder: Path
    database: Connection
    environment: dict[str, str]
    printed: list[str] = field(default_factory=list)

    def follow(self, language: str, text: str) -> None:
        """Runs a block; what it prints is kept."""
        if language == "sh":
            self.printed.append(self._shell(text))
            return
        for statement in filter(None, map(str.strip, text.split(";"))):
            if statement == _COUNT:
                until(lambda: self.rows(_COUNT) == [[0]], 60)  # "when that count is 0"
            self.printed.append(str(self.rows(statement)))

    def rows(self, statement: str) -> list[list[Any]]:
        return [list(row) for row in self.database.query(statement).rows]

    def _shell(self, text: str) -> str:
        keep = '\n[ -z "${KEY:-}" ] || echo "KEY=$KEY" > said\n'
        done = subprocess.run(  # noqa: S603 - our own page
            [shutil.which("sh") or "/bin/sh", "-c", _SHELL + text + keep],
            cwd=self.folder,
            env=self.environment,
            check=False,
            capture_output=True,
            timeout=120,
        )
        assert done.returncode == 0, (text, done.stdout, done.stderr)
        return done.stdout.decode()


def test_the_page_leads_from_his_database_to_an_answer_and_away_again(
    empty_database_url: DatabaseUrl, postgres_url: str, tmp_path: Path
) -> None:
    his = Connection(empty_database_url, timeout_s=60.0)
    for statement in [*SCHEMA, *ROWS]:
        his.query(statement)
    before = [row for [row] in his.query("SELECT CAST(t AS text) FROM context_table t").rows]
    address = f"{postgres_url.rpartition('/')[0]}/{empty_database_url.database}"
    user = {**user_environment(), **PATIENCE, "DATABASE_URL": address, "PYTHON": sys.executable}
    reader = Reader(tmp_path, his, user)
    (tmp_path / "said").touch()
    migrate, *others, drop = blocks()
    reader.follow(*migrate)
    assert "public.api_key, public.chunks, public.mcp" in reader.printed[-1]
    assert reader.printed[-1].count("will apply 0005_") == 2
    assert reader.printed[-1].count("applied 0005_") == 1
    with (
        state_folder() as state,
        Stack(state, user, StackOptions(schedule_every_s=1.0), report=lambda _: None) as stack,
    ):
        user |= {"BASE": stack.base_url, "SECRET": stack.internal_secret}
        for block in others:
            reader.follow(*block)
        log = (state.root / "logs" / "functions.log").read_text()
    printed = "\n".join(reader.printed)
    assert '"taken_over":[{"tool_id":1,"table_id":1,"json_path":""}]' in printed
    assert '"tool_id":2,"code":"INVALID_POINTER"' in printed
    assert '"of_no_project":{"count":1,"tools":[{"tool_id":5,"name":"drafts"}]}' in printed
    assert "a harbour at the end of the season" in printed
    assert "Traceback" not in log
    reader.follow(*drop)
    after = his.query(
        "SELECT CAST(ROW(id, project_id, name, description, data, created_at) AS text)"
        " FROM context_table t ORDER BY id"
    ).rows
    left = his.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1").rows
    triggers = his.query("SELECT FROM pg_trigger WHERE tgname LIKE 'context_search%'").rows
    his.close()
    assert len(before) == len(after) == 3
    assert {name for [name] in left} == {
        *("context_table", "note", "picture", "project", "tool"),
        *("api_key", "chunks", "mcp", "mcp_binding", "mcp_v2", "node", "outbox"),
    }
    assert not triggers
