"""Writes a row into docs/consistency.md for each table of the schema that it does not name.

    python -m scripts.schema_tables

A row says what the schema says. Rows that are there stay as people wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = ROOT / "shared/context_search/postgres/schema"
PAGE = ROOT / "docs" / "consistency.md"
_MADE = re.compile(r"CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(?:\w+\.)?(\w+)\b([^;]*);")
_SAID = r"COMMENT ON TABLE (?:\w+\.)?{} IS\s+'((?:[^']|'')*)'"
_PARENT = re.compile(r"REFERENCES (?:\w+\.)?(\w+)[^,]*? ON DELETE CASCADE")
_TABLE = re.compile(r"(?<=\| table \| a row is \| leaves when \|\n\|---\|---\|---\|\n)(?:\|.*\n)+")


def with_tables(page: str) -> str:
    """Return the page with a row for every table of the schema."""
    found = _TABLE.search(page)
    if found is None:
        raise ValueError("docs/consistency.md has no table of tables")
    named = {
        *re.findall(r"`(\w+)`", " ".join(row.split(" | ")[0] for row in found[0].splitlines()))
    }
    rows = "".join(
        _row(name, said, parents) for name, said, parents in tables() if name not in named
    )
    return f"{page[: found.end()]}{rows}{page[found.end() :]}"


def tables() -> Iterator[tuple[str, str, list[str]]]:
    """Yield name, comment and what it goes with, of each table."""
    sql = "\n".join(path.read_text("utf-8") for path in sorted(SCHEMA.glob("*.sql")))
    for name, columns in _MADE.findall(sql):
        comment = re.search(_SAID.format(name), sql)
        yield name, comment[1] if comment else "", _PARENT.findall(columns)


def _row(name: str, said: str, parents: list[str]) -> str:
    goes = "with its " + " or ".join(f"`{parent}`" for parent in dict.fromkeys(parents))
    return f"| `{name}` | {said.rstrip('.')} | {goes if parents else ''} |\n"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")
