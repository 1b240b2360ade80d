"""How long others wait while the schema of a large database is brought up to date.

``python -m bench upgrade [strings] --since 0009`` (default 1,000,000) makes a database as it was
after that migration, with so many strings, and applies the later ones. Meanwhile one connection
changes a string's row, one a set, one a chunk and one the table, again and again; the longest wait
of each is printed beside what the migration took.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from context_search.postgres import migrations
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from local.postgres.server import PostgresServer
from testing.grown_rows import write_strings

SETTINGS = {"max_wal_size": "8GB", "shared_buffers": "1GB", "fsync": "off"}
NAMESPACE = "grown-1"
_PARENTS = """
    INSERT INTO project (id, name) OVERRIDING SYSTEM VALUE VALUES (1, 'grown');
    INSERT INTO context_table (id, project_id, name, data) OVERRIDING SYSTEM VALUE
        VALUES (1, 1, 'table', '{}');
    INSERT INTO search_index (id, project_id, table_id, config, config_hash, active_generation_id)
        OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, '{}', 'one', 1);
    INSERT INTO index_generation (id, index_id, number, namespace, state, config)
        OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 'grown-1', 'active', '{"dimensions": 16}');
"""
CHANGES = {
    "node": "UPDATE node SET changed_at = clock_timestamp() WHERE id = 7",
    "chunk_set": "UPDATE chunk_set SET present_count = 1 WHERE id = 7",
    "chunks": "UPDATE chunks SET updated_at = clock_timestamp() WHERE id = 7",
    "context_table": "UPDATE context_table SET name = 'table' WHERE id = 1",
}
PAUSE_S = 0.005


@dataclass
class Waits:
    """The longest wait of each kind of change since it was last asked, in seconds."""

    longest: dict[str, float] = field(default_factory=dict)

    def note(self, name: str, seconds: float) -> None:
        """Remembers a change that took so long."""
        self.longest[name] = max(self.longest.get(name, 0.0), seconds)

    def taken(self) -> dict[str, float]:
        """Returns what was noted, and begins anew."""
        found, self.longest = self.longest, {}
        return found


def main() -> None:
    """Fill, migrate, print."""
    parser = argparse.ArgumentParser(prog="python -m bench upgrade", description=__doc__)
    parser.add_argument("strings", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--since", required=True)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        PostgresServer(Path(folder) / "postgres", settings=SETTINGS) as server,
    ):
        url = DatabaseUrl.parse(server.url)
        known = _numbers(until=options.since)
        migrations.apply(url, _copied(Path(folder) / "files", known))
        _fill(url, options.strings)
        print(f"{options.strings:,} strings; seconds, and the longest waits in ms", flush=True)
        with _others(url) as waits:
            for number in _numbers(after=options.since):
                known.append(number)
                began = time.perf_counter()
                waits.taken()
                [name] = migrations.apply(url, _copied(Path(folder) / "files", known))
                spent = time.perf_counter() - began
                reported = {table: round(1000 * each) for table, each in waits.taken().items()}
                print(f"{name:36} {spent:6.1f} s  {reported}", flush=True)


def _numbers(after: str = "0000", until: str = "9999") -> list[str]:
    names = [one.name for one in migrations.read(migrations.shipped())]
    return [name for name in names if after < name[:4] <= until]


def _copied(folder: Path, names: Sequence[str]) -> Path:
    folder.mkdir(exist_ok=True)
    for name in names:
        with migrations.shipped().joinpath(name).open("rb") as source:
            (folder / name).write_bytes(source.read())
    return folder


def _fill(url: DatabaseUrl, strings: int) -> None:
    database = Database(url, statement_timeout_ms=0)
    with database.transaction() as tx:
        tx.run(_PARENTS)
    write_strings(database, strings, table_id=1, generation_id=1, namespace=NAMESPACE)
    database.close()


@contextmanager
def _others(url: DatabaseUrl) -> Iterator[Waits]:
    """Changes rows, each kind by a connection of its own, until the block ends."""
    waits, stop = Waits(), threading.Event()

    def change(name: str, statement: str) -> None:
        database = Database(url, statement_timeout_ms=0)
        while not stop.wait(PAUSE_S):
            began = time.perf_counter()
            with database.transaction() as tx:
                tx.run(statement)
            waits.note(name, time.perf_counter() - began)
        database.close()

    threads = [threading.Thread(target=change, args=each) for each in CHANGES.items()]
    for thread in threads:
        thread.start()
    try:
        yield waits
    finally:
        stop.set()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main()
