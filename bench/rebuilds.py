"""How large Postgres' tables grow while an index is rebuilt again and again, beside a new index.

    python -m bench rebuilds                # 6,000 strings, ten rebuilds as fast as they go
    python -m bench rebuilds --every 32     # one begins each 32 seconds

The use cases over a PostgreSQL of this program's own, which vacuums each 15 s; model, queue and
turbopuffer are in memory. A cycle is the order, a run of cleanup, what workers do until the switch,
and another run. Only tables of at least 2 % of the new index are printed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from bench._large_index import text_of
from context_search.core.callers import Internal
from context_search.postgres import migrations
from context_search.postgres.url import DatabaseUrl
from local.postgres.server import PostgresServer
from testing.one_process import OneProcess

SETTINGS = {"autovacuum_naptime": "15s", "max_wal_size": "4GB", "fsync": "off"}
STRINGS, CYCLES = 6_000, 10
CHARACTERS = 400
_SIZES = """
    SELECT relname, pg_table_size(oid) / 1e6, pg_indexes_size(oid) / 1e6
    FROM pg_class WHERE relkind = 'r'
      AND relnamespace IN (CAST('context_search' AS regnamespace), CAST('public' AS regnamespace))
    ORDER BY pg_total_relation_size(oid) DESC
"""
_GENERATIONS = """
    SELECT state, count(*), sum((SELECT count(*) FROM node WHERE generation_id = generation.id))
    FROM index_generation AS generation GROUP BY state ORDER BY state
"""
Sizes = dict[str, tuple[float, float]]
"""MB of each table and of its indexes, the largest first."""


def sizes(parts: OneProcess) -> Sizes:
    """Returns them as they are now."""
    with parts.postgres.database.transaction() as tx:
        return {name: (float(own), float(more)) for name, own, more in tx.run(_SIZES)}


def report(parts: OneProcess, name: str, first: Sizes) -> None:
    """Prints the sizes as they are now, and their ratio to the first ones."""
    now = sizes(parts)
    with parts.postgres.database.transaction() as tx:
        there = ", ".join(
            f"{count} {state}: {nodes}" for state, count, nodes in tx.run(_GENERATIONS)
        )
    whole, before = (sum(map(sum, each.values())) for each in (now, first))
    print(f"{name}: {whole:.0f} MB, {whole / before:.2f} times; strings of generations, {there}")
    for table, (own, more) in now.items():
        if own + more >= before / 50:
            ratio = (own + more) / sum(first[table])
            print(f"    {table:16} {own:6.1f} + {more:5.1f} of indexes, {ratio:6.2f} times")
    print(end="", flush=True)


def rebuild(parts: OneProcess, tool_id: int) -> None:
    """Does one cycle."""
    parts.use_cases.rebuilds.start(tool_id, Internal())
    parts.clean()
    parts.work()
    parts.clean()


def main() -> None:
    """Builds, rebuilds and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--strings", type=int, default=STRINGS)
    parser.add_argument("--cycles", type=int, default=CYCLES)
    parser.add_argument("--every", type=float, default=0.0, metavar="SECONDS")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        PostgresServer(Path(folder), settings=SETTINGS) as server,
    ):
        migrations.apply(DatabaseUrl.parse(server.url))
        parts = OneProcess(server.url)
        texts = {f"text {number}": text_of(number, CHARACTERS) for number in range(options.strings)}
        [tool_id] = parts.ready_tools(parts.table(texts), [""])
        first = sizes(parts)
        report(parts, "a new index", first)
        for cycle in range(options.cycles):
            began = time.monotonic()
            rebuild(parts, tool_id)
            report(parts, f"{cycle + 1}, {time.monotonic() - began:.0f} s", first)
            time.sleep(max(0.0, began + options.every - time.monotonic()))
        parts.close()


if __name__ == "__main__":
    main()
