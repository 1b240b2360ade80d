"""What a migration may do to a database that code of the last release goes on using.

That code knows none of it: it reads the columns that it knew, and writes rows without the new
ones. So a statement is refused unless it is of a kind that such code cannot notice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

LAST_MIGRATIONS = {"v0.1.0": "0007_tables_that_moved.sql"}
"""The last migration of each release, the latest release at the end."""

# (file, how the statement begins) → why the last release's code does not notice.
_KEPT, _EDITING = "0008_kept_chunks.sql", "0010_editing.sql"
_REPLACING = "0011_replacing.sql"
_WORDS, _NOTES = "0017_words_later.sql", "0018_words_later.concurrently.sql"
_TALLY, _GROWTH = "0015_node_tally.sql", "0016_growth.concurrently.sql"
_PIECES = "0025_pieces.concurrently.sql"
_MAKERS = "0030_makers_and_callers.sql"
_OF_ALL = "0034_strings_of_a_project.sql"
_DEPLOYMENT = "0035_deployment.sql"
EXCEPTIONS: dict[tuple[str, str], str] = {
    (_KEPT, "ALTER TABLE chunk_set DROP"): "replaced by the next one",
    (_KEPT, "ALTER TABLE chunk_set ADD"): "allows one state more; what it writes is still allowed",
    (_KEPT, "ALTER TABLE chunk_set VALIDATE"): "reads only",
    (_KEPT, "CREATE UNIQUE INDEX chunk_set_partial"): "of rows in a state that it never writes",
    (_EDITING, "CREATE TRIGGER context_search_version_added"): "writes new tables only",
    (_EDITING, "CREATE TRIGGER context_search_version_changed"): "writes new tables only",
    (_REPLACING, "CREATE TRIGGER context_search_planned_deleted"): "writes new tables only",
    (_TALLY, "CREATE TRIGGER tally_new_nodes"): "writes new tables only",
    (_TALLY, "CREATE TRIGGER tally_gone_nodes"): "writes new tables only",
    (_GROWTH, "SELECT context_search.mend_node_tally"): "writes new tables only",
    (_WORDS, "CREATE TRIGGER note_generation"): "writes the new column only",
    (_NOTES, "UPDATE context_search.words_backlog"): "writes the new column only",
    (_PIECES, "DROP INDEX CONCURRENTLY IF EXISTS context_search.context_search_node_pointer"): (
        "is younger than that release"
    ),
    (_PIECES, "DROP INDEX CONCURRENTLY IF EXISTS context_search.node_not_indexed"): (
        "context_search_node_unfinished begins with the same columns"
    ),
    (_MAKERS, "DO ''"): "it calls none of these functions; their triggers fire as before",
    (_OF_ALL, "DO ''"): "it calls none of these functions",
    (_DEPLOYMENT, "INSERT INTO deployment"): "a table that it does not know",
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


def since(release: str, migrations: Mapping[str, str]) -> dict[str, str]:
    """The migrations after the last one of a release, text by name."""
    return {name: sql for name, sql in migrations.items() if name > LAST_MIGRATIONS[release]}


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
