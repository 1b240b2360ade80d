"""Finding exact text: a page of literals and patterns, against one look at every text in Postgres.

``python -m bench find [strings] [chunks]`` (default 20,000 strings of 10 chunks of 1,000
characters that share 100 with the next, half English, half Chinese) makes the rows by SQL, in a
PostgreSQL of its own. Each is compared with the least that Postgres takes to look for a literal in
all chunks.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from bench._large_index import text_of
from context_search.agents.list_tools import ListTools
from context_search.core.callers import Principal
from context_search.integrations.patterns.re2_patterns import Re2Patterns
from context_search.integrations.ports import SystemClock
from context_search.postgres import migrations
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from context_search.reading.find_text import FindText
from context_search.reading.rules.found_text import FoundText, WantedMatches
from local.postgres.server import PostgresServer
from testing.grown_index import GrownIndex
from testing.postgres_cost import measured

SETTINGS = {"max_wal_size": "8GB", "shared_buffers": "1GB", "fsync": "off"}
ROUNDS = 3
PIECES, CHARS, STEP = 480, 1_000, 900
NEEDLE = "the Needle of 1,734 words"
# As a replica, which no trigger of ours sees. The needle stands in what two chunks share.
_ROWS = """
    SET LOCAL session_replication_role = replica;
    INSERT INTO node (generation_id, table_id, json_pointer, pointer_sha256, content_hash,
                      char_count, state, active_set_id, indexed_at)
        SELECT {generation}, {table}, pointer, sha256(convert_to(pointer, 'UTF8')), 'x',
               {chunks} * {step} + {chars} - {step}, 'indexed', number, now()
        FROM generate_series(1, {strings}) AS number, format('/strings/%s', number) AS pointer;
    INSERT INTO chunk_set (id, node_id, content_hash, state, chunks_count, present_count)
        OVERRIDING SYSTEM VALUE
        SELECT active_set_id, id, 'x', 'active', {chunks}, {chunks}
        FROM node WHERE generation_id = {generation} AND content_hash = 'x'
        ON CONFLICT DO NOTHING;
    INSERT INTO chunks (table_id, set_id, json_pointer, chunk_index, total_chunks, chunk_text,
                        char_start, char_end, content_hash, turbopuffer_namespace,
                        turbopuffer_doc_id, input_hash, rows_hash)
        SELECT {table}, string, '/strings/' || string, place, {chunks},
               CASE (string, place) WHEN ({strings}, 0) THEN overlay(text PLACING '{needle}' FROM
                                                                     {step} + 1)
                                    WHEN ({strings}, 1) THEN overlay(text PLACING '{needle}' FROM 1)
                                    ELSE text END,
               place * {step}, place * {step} + {chars}, 'x', 'bench', 'bench.' || named,
               sha256(convert_to(named, 'UTF8')), ''
        FROM generate_series(1, {strings}) AS string
        CROSS JOIN generate_series(0, {chunks} - 1) AS place
        CROSS JOIN LATERAL (SELECT string || '.' || place AS named) AS named
        JOIN piece ON language = string % 2
                  AND number = (CAST(string AS bigint) * 7919 + place) % {pieces};
    INSERT INTO comparison (generation_id, table_id, revision, scopes)
        SELECT {generation}, id, revision, ARRAY[''] FROM context_table WHERE id = {table}
        ON CONFLICT (generation_id, table_id)
        DO UPDATE SET revision = EXCLUDED.revision, scopes = EXCLUDED.scopes
"""
_LEAST = """
    SELECT count(*) FROM chunks
    WHERE strpos(lower(chunk_text COLLATE "C"), 'zebra crossing nowhere') > 0
"""
QUESTIONS = {
    "a literal that one string has": WantedMatches(NEEDLE.upper()),
    "a literal that none has": WantedMatches("zebra crossing nowhere"),
    "the same in Chinese": WantedMatches("斑马线不在任何地方"),
    "the same in Cyrillic, of either case": WantedMatches("зебра нигде"),
    "a literal that most have": WantedMatches("a"),
    "a pattern that one string has": WantedMatches(pattern=r"needle of [0-9,]+ words"),
    "a pattern that most have": WantedMatches(pattern="[aeiou]{2}[a-z]"),
}


def main() -> None:
    """Make the rows, ask, print."""
    parser = argparse.ArgumentParser(prog="python -m bench find", description=__doc__)
    parser.add_argument("strings", nargs="?", type=int, default=20_000)
    parser.add_argument("chunks", nargs="?", type=int, default=10)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        PostgresServer(Path(folder), settings=SETTINGS) as server,
    ):
        url = DatabaseUrl.parse(server.url)
        migrations.apply(url)
        database = Database(url, statement_timeout_ms=0)
        grown = _filled(database, options.strings, options.chunks)
        print(f"{options.strings:,} strings, {options.strings * options.chunks:,} chunks")
        _ask(database, grown)
        database.close()


def _filled(database: Database, strings: int, chunks: int) -> GrownIndex:
    grown = GrownIndex.of(database, 1)
    with database.transaction() as tx:
        tx.run("CREATE TEMP TABLE piece (language int, number int, text text) ON COMMIT DROP")
        for language in range(2):
            text = text_of(language, PIECES * STEP + CHARS)
            for number in range(PIECES):
                piece = text[number * STEP : number * STEP + CHARS]
                tx.run("INSERT INTO piece VALUES (:l, :n, :t)", l=language, n=number, t=piece)
        tx.run("DELETE FROM node")
        tx.run(
            _ROWS.format(
                generation=grown.index.generation.id,
                table=grown.table.id,
                strings=strings,
                chunks=chunks,
                chars=CHARS,
                step=STEP,
                pieces=PIECES,
                needle=NEEDLE,
            )
        )
    for name in ("node", "chunk_set", "chunks"):
        with database.transaction() as tx:
            tx.run(f"ANALYZE {name}")
    return grown


def _ask(database: Database, grown: GrownIndex) -> None:
    find = FindText(grown.store, ListTools(grown.store), Re2Patterns(), SystemClock())

    def look() -> None:
        with database.transaction() as tx:
            tx.queue("SET LOCAL max_parallel_workers_per_gather = 0")
            tx.run(_LEAST)

    least = _measured(database, look)
    print(f"  one look at every chunk: {least}")
    for name, wanted in QUESTIONS.items():
        found: list[FoundText] = []
        spent = _measured(database, lambda: found.append(_page(find, grown.owner, wanted)))  # noqa: B023 - it is over
        ratio = spent.cpu_s / least.cpu_s
        print(f"  {name}: {spent}, {ratio:.1f} times that; {_said(found[-1])}", flush=True)


def _page(find: FindText, owner: Principal, wanted: WantedMatches) -> FoundText:
    """Goes on until there is a match, as an agent does."""
    found = find.find(owner, wanted)
    while found.cursor is not None and not found.matches:
        found = find.find(owner, replace(wanted, cursor=str(found.cursor)))
    return found


@dataclass(frozen=True, slots=True)
class _Spent:
    """Seconds of a call, and of CPU in Postgres and here; RE2's process is not in these."""

    seconds: float
    cpu_s: float

    def __str__(self) -> str:
        return f"{1000 * self.seconds:,.0f} ms, {1000 * self.cpu_s:,.0f} ms of CPU"


def _measured(database: Database, operation: Callable[[], object]) -> _Spent:
    """Returns the median of some rounds, when everything is in memory."""
    spent = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        cost = measured(database, operation)
        spent.append(_Spent(time.perf_counter() - began, cost.server_s + cost.own_s))
    return sorted(spent, key=lambda each: each.cpu_s)[ROUNDS // 2]


def _said(found: FoundText) -> str:
    known = f"{found.counted:,}" if found.is_all else f"at least {found.counted:,}"
    return f"{len(found.matches)} of {known}"


if __name__ == "__main__":
    main()
