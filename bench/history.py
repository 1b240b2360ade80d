"""What versions cost a change, as a ratio in one run, and one large document all the way.

    python -m bench history             # ratios for documents of three sizes
    python -m bench history --large 250 # one document of so many MB through a stack of its own

The ratios are of use cases over a PostgreSQL of this program's own; no HTTP. A change that is
recorded and one of a project that keeps nothing take turns, so that what else the machine does
meets both.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench._large_version import large_version
from context_search.catalog.rules.versions import HistoryLimits
from context_search.catalog.tables import ManageTables
from context_search.catalog.versions import ManageVersions
from context_search.core.callers import ProjectKey
from context_search.postgres import migrations
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from context_search.store import PostgresStore
from local.postgres.server import PostgresServer
from local.stack import Stack
from local.state import State

ROUNDS = {20_000: 300, 300_000: 60, 3_000_000: 30}
"""Size of a document → how often it is changed."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A database, and two projects: one keeps versions, one does not."""

    store: PostgresStore
    kept: ProjectKey
    off: ProjectKey

    @classmethod
    def of(cls, url: str) -> Bench:
        """Makes both projects in an empty database."""
        where = DatabaseUrl.parse(url)
        owner = Database(where, statement_timeout_ms=80_000)
        migrations.apply(where)
        store = PostgresStore(owner)
        with store.for_all("create a project") as work:
            kept, off = (ProjectKey(work.projects.add(name).id) for name in ("kept", "off"))
            work.projects.lock_settings(HistoryLimits, off.project_id)
            work.projects.write_settings(off.project_id, HistoryLimits(keep_count=0))
        return cls(store, kept, off)


def document(size: int, seed: int = 1) -> dict[str, list[str]]:
    """Returns a document of about ``size`` bytes: chapters of words."""
    chance = random.Random(seed)
    words = ["".join(chance.choices("abcdefghijklmnopqrst", k=6)) for _ in range(4_000)]
    chapters = max(1, size // 20_000)
    return {
        "chapters": [
            " ".join(chance.choices(words, k=size // chapters // 7)) for _ in range(chapters)
        ]
    }


def seconds(what: Callable[[], object]) -> float:
    """Returns how long a call takes."""
    begun = time.perf_counter()
    what()
    return time.perf_counter() - begun


def ratios(bench: Bench) -> None:
    """Prints the medians of PUT and PATCH, with and without versions, and of restore."""
    tables, versions = ManageTables(bench.store), ManageVersions(bench.store)
    for size, rounds in ROUNDS.items():
        text = document(size)
        made = {key: tables.create(key, "t", None, text).id for key in (bench.kept, bench.off)}
        spent: dict[tuple[str, ProjectKey], list[float]] = {}
        for number in range(rounds):
            text["chapters"][number % len(text["chapters"])] += f" changed {number}"
            for key, table in made.items():
                put = seconds(partial(tables.replace, key, table, text))
                patch = seconds(partial(tables.merge, key, table, {"n": number}))
                spent.setdefault(("PUT", key), []).append(put)
                spent.setdefault(("PATCH", key), []).append(patch)
        for kind in ("PUT", "PATCH"):
            with_versions, without = spent[kind, bench.kept], spent[kind, bench.off]
            kept, off = statistics.median(with_versions[1:]), statistics.median(without[1:])
            print(
                f"{size:>9} bytes {kind:5}  kept {kept * 1e3:7.1f} ms  off {off * 1e3:7.1f} ms"
                f"  ratio {kept / off:.2f}  first {with_versions[0] / without[0]:.2f}"
            )
        table = made[bench.kept]
        again = [
            seconds(partial(versions.restore, bench.kept, table, number)) for number in range(2, 12)
        ]
        print(f"{size:>9} bytes restore {statistics.median(again) * 1e3:7.1f} ms")


def large(megabytes: int) -> None:
    """Takes a document of so many megabytes through a stack of its own."""
    with tempfile.TemporaryDirectory() as folder:
        state, given = State(Path(folder) / "state"), dict(os.environ)  # noqa: TID251 - handed on
        with Stack(state, given, report=lambda _: None) as stack:
            large_version(stack, document(megabytes * 1_000_000))


def main() -> None:
    """Starts a PostgreSQL, measures, and stops it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--large", type=int, metavar="MB")
    if megabytes := parser.parse_args().large:
        large(megabytes)
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        PostgresServer(Path(folder), settings={"max_wal_size": "4GB"}) as server,
    ):
        ratios(Bench.of(server.url))


if __name__ == "__main__":
    main()
