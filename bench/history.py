"""What versions cost a change, as a ratio in one run, and one large document all the way.

    python -m bench history             # ratios for documents of three sizes
    python -m bench history --large 250 # one document of so many MB through the worker

The use cases over a PostgreSQL of this program's own; no HTTP. A change that is recorded and one
of a project that keeps nothing take turns, so that what else the machine does meets both.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from context_search.adapters.postgres import migrations
from context_search.adapters.postgres.pool import Database
from context_search.adapters.postgres.store import PostgresStore
from context_search.adapters.postgres.url import DatabaseUrl
from context_search.domain.access import ProjectKey
from context_search.domain.errors import ContextSearchError
from context_search.domain.uploads import NewUpload, Upload, longest_document
from context_search.domain.versions import HistoryLimits
from context_search.services.catalog.imports import ImportDocument
from context_search.services.catalog.tables import ManageTables
from context_search.services.editing.compare import CompareVersions
from context_search.services.editing.record import RecordVersions
from context_search.services.editing.versions import ManageVersions
from local.postgres.server import PostgresServer
from testing.in_memory.uploads import DictObjects

ROUNDS = {20_000: 300, 300_000: 60, 3_000_000: 30}
"""Size of a document → how often it is changed."""
LAMBDA_BYTES = 3_008 << 20


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
            work.history_settings.lock(off.project_id)
            work.history_settings.write(off.project_id, HistoryLimits(keep_count=0))
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


def most_memory() -> int:
    """Returns the most bytes that this process has held."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    [line] = [each for each in lines if each.startswith("VmHWM")]
    return int(line.split()[1]) * 1_024


def forget_memory() -> None:
    """Lets the most begin anew."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def step(name: str, what: Callable[[], object]) -> object:
    """Prints seconds and the most memory of a step; a refusal is an answer here."""
    forget_memory()
    begun = time.perf_counter()
    try:
        done = what()
    except ContextSearchError as error:
        done = error.code
    spent = time.perf_counter() - begun
    print(f"{name:34} {spent:6.1f} s  {most_memory() / 1e6:7.0f} MB", flush=True)
    return done


def large(bench: Bench, megabytes: int) -> None:
    """Imports two large documents, so that one is recorded, then lists, compares, restores."""
    objects = DictObjects()
    recorder = RecordVersions(longest_document(LAMBDA_BYTES))
    worker = ImportDocument(bench.store, bench.store, objects, recorder, memory_bytes=LAMBDA_BYTES)
    versions, key = ManageVersions(bench.store), bench.kept
    table = ManageTables(bench.store).create(key, "t", None, {})

    def upload(content: bytes) -> Upload:
        with bench.store.for_project(key.project_id) as work:
            made = work.uploads.add(NewUpload(key.project_id, table.id, "json"))
            objects.contents[made.key] = content
            complete = replace(made, state="importing", bytes=len(content))
            work.uploads.save(complete)
            return complete

    text = document(megabytes * 1_000_000)
    first = upload(json.dumps(text).encode())
    step("import, nothing to record", lambda: worker.run(first.id))
    for place in range(7):
        at = place * len(text["chapters"]) // 7
        text["chapters"][at] = text["chapters"][at][:500] + "EDIT" + text["chapters"][at][500:]
    second = upload(json.dumps(text).encode())
    del text
    step("import, records what it overwrites", lambda: worker.run(second.id))
    print("stored", used(bench), "bytes")
    third = ManageTables(bench.store).replace(key, table.id, {"small": 1})
    print("a PUT over it leaves:", versions.read(key, table.id, third.revision - 1).gap)
    restored = step("restore is ordered", lambda: versions.restore(key, table.id, 2))
    if isinstance(restored, Upload):
        step("restore by the worker", lambda: worker.run(restored.id))
    page = step("list", lambda: versions.page(key, table.id, below=None))
    print(page)
    print(step("read", lambda: len(versions.read_document(key, table.id, 2, "/chapters/3"))))
    compare = CompareVersions(bench.store).compare
    print(step("compare", lambda: compare(key, table.id, 2, None, after=0)))


def used(bench: Bench) -> int:
    """Returns the bytes of all pieces."""
    with bench.store.database.transaction() as tx:
        [[total]] = tx.run("SELECT sum(bytes) FROM table_history")
    return int(total)


def main() -> None:
    """Starts a PostgreSQL, measures, and stops it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--large", type=int, metavar="MB")
    wish = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        PostgresServer(Path(folder), settings={"max_wal_size": "4GB"}) as server,
    ):
        bench = Bench.of(server.url)
        if wish.large:
            large(bench, wish.large)
        else:
            ratios(bench)


if __name__ == "__main__":
    sys.exit(main())
