"""Strings over the limit of a deployment: no search finds them, so they are told."""

from __future__ import annotations

import pytest

from context_search.postgres.pool import Database
from tests.builders import english
from tests.cli.running import CliParts, CommandLine

LIMIT = 1_000


@pytest.fixture(scope="module")
def parts(application_database: Database, turbopuffer_url: str) -> CliParts:
    """Of a deployment that indexes short strings only."""
    small = CliParts(application_database, turbopuffer_url)
    small.settings = small.settings.model_copy(update={"max_node_chars": LIMIT})
    return small


def test_skipped_strings_are_told(cli: CommandLine) -> None:
    long = {f"long-{number}": f"{english(LIMIT)} {number}" for number in range(2)}
    tool = cli.tool(cli.table({"notes": "The keeper wound the clockwork.", **long}))
    [row] = cli.done("status").lines
    assert row[3:] == ["ready", "1 of 1", "1 indexed, 2 skipped"]
    assert "/long-1\t" in cli.done("status", tool).out
    checks = {each["check"]: each for each in cli("doctor", "--json").document["checks"]}
    reported = (checks["tools"]["state"], checks["tools"]["detail"])
    assert reported == ("look", f"tool {tool} has 2 strings skipped")
