"""What each operation costs as an index grows: CPU of Postgres + our own, blocks, and their growth.

    python -m bench scale                           # 20,000 and 100,000 strings
    python -m bench scale --sizes 20000 100000 1000000

The rows are made by SQL, in a PostgreSQL of this program's own: nothing is embedded. Each operation
runs three times; the last one counts, when everything is in memory.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from statistics import quantiles

from context_search.postgres import migrations
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from local.postgres.server import PostgresServer
from testing.grown_index import GrownIndex
from testing.grown_operations import operations, operations_of_a_part
from testing.grown_rows import write_words
from testing.grown_searches import ask, is_full, searches
from testing.postgres_cost import Cost, measured

SIZES = [20_000, 100_000]
SETTINGS = {"max_wal_size": "8GB", "shared_buffers": "1GB", "fsync": "off"}
ROUNDS = 3
ASKED = 200


def at(size: int, left_out: Collection[str] = ()) -> dict[str, Cost]:
    """Returns what the operations cost over an index of so many strings."""
    with (
        tempfile.TemporaryDirectory() as folder,
        PostgresServer(Path(folder), settings=SETTINGS) as server,
    ):
        url = DatabaseUrl.parse(server.url)
        migrations.apply(url)
        database = Database(url, statement_timeout_ms=0)
        began = time.perf_counter()
        grown = GrownIndex.of(database, size)
        print(f"{size:,} strings made in {time.perf_counter() - began:.0f} s", flush=True)
        write_words(database, grown.index, grown.table.id)
        costs = {}
        for together in _all_operations(grown):
            for name, operation in together.items():
                if name in left_out:
                    continue
                for _ in range(ROUNDS):
                    costs[name] = measured(database, operation)
                print(f"  {name}: {costs[name]}", flush=True)
        _ask(grown)
        print(f"  the project is {'full' if is_full(grown) else 'not full'}", flush=True)
        database.close()
    return costs


def _all_operations(grown: GrownIndex) -> Iterator[Mapping[str, Callable[[], object]]]:
    yield searches(grown)
    yield operations(grown)
    yield operations_of_a_part(grown)  # asked for when the others are done: it changes the index


def _ask(grown: GrownIndex) -> None:
    spent = []
    for words in _questions(grown, ASKED):
        began = time.perf_counter()
        ask(grown, words)
        spent.append(1000 * (time.perf_counter() - began))
    cuts = quantiles(spent, n=100)
    print(f"  {ASKED} keyword questions: p50 {cuts[49]:.0f}, p95 {cuts[94]:.0f} ms", flush=True)


def _questions(grown: GrownIndex, count: int) -> list[list[str]]:
    """Returns the words of questions: two to six that stand in a row in one of the strings."""
    chance = random.Random(count)
    with grown.store.database.transaction() as tx:
        [[first, last]] = tx.run("SELECT min(id), max(id) FROM chunks")
        ids = [chance.randint(first, last) for _ in range(count)]
        rows = tx.run(
            "SELECT chunk_text FROM chunks WHERE id = ANY(CAST(:ids AS bigint[]))", ids=ids
        )
    asked = []
    for [text] in rows:
        words = text.split()[2:]
        begin = chance.randrange(len(words) - 2)
        asked.append(words[begin : begin + chance.randint(2, 6)])
    return asked


def main() -> None:
    """Measures each size and prints a row for each operation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--without", nargs="+", default=(), metavar="OPERATION")
    options = parser.parse_args()
    sizes: list[int] = options.sizes
    found = {size: at(size, options.without) for size in sizes}
    print(f"| operation | {' | '.join(f'{size:,}' for size in sizes)} | growth |")
    print("|---|" + "---|" * (len(sizes) + 1))
    for name in found[sizes[0]]:
        costs = [found[size][name] for size in sizes]
        cells = [
            f"{cost.server_s * 1e3:.0f} + {cost.own_s * 1e3:.0f} ms, {cost.blocks:,}"
            for cost in costs
        ]
        growth = costs[-1].blocks / max(1, costs[0].blocks)
        print(f"| {name} | {' | '.join(cells)} | {growth:.1f} |")


if __name__ == "__main__":
    main()
