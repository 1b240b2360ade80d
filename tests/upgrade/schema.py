"""What a migration may do to a database that code of the last release goes on using.

That code knows none of it: it reads the columns that it knew, and writes rows without the new
ones. So a statement is refused unless it is of a kind that such code cannot notice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

LAST_MIGRATIONS = {"v0.2.0": "0009_shared_indexes.concurrently.sql"}
"""The last migration of each release, the latest release at the end."""

# (file, how the statement begins) → why the last release's code does not notice.
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("0010_reading.sql", "DO ''"): "it comments a column, unless the table's owner has",
}

_TEXT_OR_COMMENT = re.compile(
    r"(?P<text>'(?:[^']|'')*'|\$\w*\$.*?\$\w*\$)|--[^\n]*|/\*.*?\*/", re.DOTALL
)
_NEW = re.compile(r"CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?([\w.]+)", re.IGNORECASE)
_ON = re.compile(r" ON (?:TABLE )?(?:ONLY )?([\w.]+)", re.IGNORECASE)
_ALTER = re.compile(
    r"ALTER TABLE (?:IF EXISTS )?(?:ONLY )?([\w.]+) (.*)", re.IGNORECASE | re.DOTALL
)
_ADD = re.compile(
    r"ADD (?:COLUMN )?(?:IF NOT EXISTS )?(?!CONSTRAINT\b|CHECK\b|UNIQUE\b|PRIMARY\b"
    r"|FOREIGN\b|EXCLUDE\b)\w+ .*",
    re.IGNORECASE | re.DOTALL,
)
_HARMLESS = re.compile(
    r"COMMENT ON |CREATE (?:UNLOGGED )?TABLE |CREATE (?:OR REPLACE )?(?:VIEW|FUNCTION) "
    r"|CREATE SEQUENCE |CREATE INDEX |GRANT ",
    re.IGNORECASE,
)
# What is for new tables only.
_OF_A_TABLE = re.compile(
    r"CREATE (?:UNIQUE INDEX|(?:OR REPLACE )?(?:CONSTRAINT )?TRIGGER|POLICY) ", re.IGNORECASE
)


def since(last: str | None, migrations: Mapping[str, str]) -> dict[str, str]:
    """The migrations after the last one of a release, text by name; none without a release."""
    return {name: sql for name, sql in migrations.items() if last is not None and name > last}


def refusals(migrations: Mapping[str, str], exceptions: Mapping[tuple[str, str], str]) -> list[str]:
    """What code that does not know these migrations would notice, without the exceptions."""
    excused, new = set[tuple[str, str]](), set[str]()
    found = []
    for name, sql in migrations.items():
        for statement in statements(sql):
            new |= {_bare(table) for table in _NEW.findall(statement)}
            reason = refusal(statement, new)
            if reason is None:
                continue
            because = {key for key in exceptions if key[0] == name and statement.startswith(key[1])}
            excused |= because
            if not because:
                found.append(f"{name}: {reason}: {statement[:160]}")
    unused = [key for key in exceptions if key[0] in migrations and key not in excused]
    return found + [f"no exception is needed for {name}: {start}" for name, start in unused]


def statements(sql: str) -> Iterator[str]:
    """The statements of a file in one line each; bodies of functions and texts as ``''``."""
    plain = _TEXT_OR_COMMENT.sub(lambda found: "''" if found["text"] else " ", sql)
    for statement in plain.split(";"):
        if words := " ".join(statement.split()):
            yield words


def refusal(statement: str, new: set[str]) -> str | None:
    """Why a statement is refused; ``new`` are the tables that the last release does not have."""
    altered = _ALTER.fullmatch(statement)
    if altered:
        return None if _bare(altered[1]) in new else _refused_change(altered[2])
    if _OF_A_TABLE.match(statement):
        on = _ON.search(statement)
        if on and _bare(on[1]) in new:
            return None
        return "a new rule for rows that the last release writes"
    if _HARMLESS.match(statement):
        return None
    return "not known to be harmless for the last release"


def _refused_change(actions: str) -> str | None:
    for action in re.split(r",(?![^(]*\))", actions):
        words = action.strip()
        if not _ADD.fullmatch(words):
            return "changes what the last release reads or writes"
        upper = f" {words.upper()} "
        if " NOT NULL" in upper and not re.search(r" DEFAULT | GENERATED ", upper):
            return "a column that the last release does not fill"
        if re.search(r" UNIQUE | PRIMARY KEY ", upper):
            return "a column of which the last release's rows are all equal"
    return None


def _bare(table: str) -> str:
    return table.rsplit(".", 1)[-1]
