"""``python -m tests.upgrade.prove v0.2.0``: this state and a release work side by side.

A line for each part with what it counted and its seconds; below a red one what failed. Ends with
1 when a part is red. What is promised, and in which order versions change: docs/operations.md.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from context_search.postgres.connection import Connection
from context_search.postgres.url import DatabaseUrl
from local.options import ROOT
from tests.stack import DatabaseFactory, server_of_this_run
from tests.upgrade import schema
from tests.upgrade.messages import answered_alike, check_record, misread, recorded
from tests.upgrade.shared_parts import SharedParts, shared_parts
from tests.upgrade.versions import UpgradeError, Version, checked_out, today
from tests.upgrade.walk import Walk
from tests.upgrade.written import columns, written

SUITES = (
    "tests/access",
    "tests/agents",
    "tests/budgets",
    "tests/catalog",
    "tests/contract/store",
    "tests/editing",
    "tests/functions",
    "tests/indexing",
    "tests/maintenance",
    "tests/postgres",
    "tests/searching",
)
# Which of the release's tests do not run → why.
LEFT_OUT = {
    "tests/postgres/schema": "how its own migrations are applied, on empty databases",
    "tests/postgres/test_migrations.py": "refuses a schema that is ahead, as it should",
    "tests/postgres/test_row_security.py::"
    "test_every_table_has_a_policy_or_a_reason_to_have_none": "lists every table; today's own does",
}
_SERVERS = ROOT / ".local" / "tests"
_PASSED = re.compile(r"(\d+) passed")
_ROLES = ("create_tool", "index_node", "search", "cleanup")


@contextmanager
def _server_with_template(name: str) -> Iterator[str]:
    """Gives the URL of a new server whose database ``name`` has today's schema.

    The release's tests copy the database of this name: they take it for their own.
    """
    with ExitStack() as open_:
        url = open_.enter_context(server_of_this_run(_SERVERS))
        migrated = open_.enter_context(DatabaseFactory(url).migrated())
        admin = Connection(DatabaseUrl.parse(url), timeout_s=60.0)
        open_.callback(admin.close)
        found = admin.query("SELECT 1 FROM pg_database WHERE datname = :name", {"name": name})
        if not found.rows:
            admin.query(f"CREATE DATABASE {name} TEMPLATE {migrated.database}")
            open_.callback(admin.query, f"DROP DATABASE {name} WITH (FORCE)")
        yield url


class Proof:
    """The parts in order; ``red`` are those that did not hold."""

    def __init__(self, base: Version, now: Version, only: str | None, workers: int) -> None:
        self.base, self.now, self.only, self.workers = base, now, only, workers
        self.red: list[str] = []

    def part(self, name: str, prove: Callable[[], str]) -> None:
        """Proves one part and prints its line."""
        if self.only not in (None, name):
            return
        began = time.monotonic()
        print(f"{name:<9} ", end="", flush=True)
        try:
            said = prove()
        except Exception as error:  # noqa: BLE001 - the other parts are worth their lines too
            self.red.append(name)
            print(f"FAILED, {time.monotonic() - began:.0f} s")
            for line in _reported(error):
                print(f"    {line}", flush=True)
        else:
            print(f"{said}, {time.monotonic() - began:.0f} s", flush=True)

    def __call__(self, scratch: Path) -> None:
        """Everything, on one PostgreSQL server."""
        self.part("schema", self.migrations)
        self.part("tests", self.tests)
        with server_of_this_run(_SERVERS) as url:
            databases = DatabaseFactory(url)
            for name, prove in (
                ("messages", self.messages),
                ("mixed", self.mixed),
                ("redeploy", self.redeploy),
            ):
                self.part(name, partial(self.on_shared_parts, databases, url, scratch, prove))

    # ------------------------------------------------------------------ schema

    def migrations(self) -> str:
        """No applied file has changed, and code of the release does not notice the new ones."""
        known, shipped = self.base.migrations(), self.now.migrations()
        changed = [name for name in known if shipped.get(name) != known[name]]
        new = {name: sql for name, sql in shipped.items() if name not in known}
        wrong = [f"{name} was changed or removed since {self.base.name}" for name in changed]
        last = schema.LAST_MIGRATIONS.get(self.base.name)
        if last is not None and last != max(known):
            wrong.append(f"LAST_MIGRATIONS says {last}, {self.base.name} has {max(known)}")
        wrong += schema.refusals(new, schema.EXCEPTIONS)
        if wrong:
            raise UpgradeError("\n".join(wrong))
        excused = sum(name in new for name, _ in schema.EXCEPTIONS)
        return f"{len(new)} new migrations, {excused} exceptions with a reason"

    # ------------------------------------------------------------------- tests

    def tests(self) -> str:
        """The release's own tests, unchanged, on databases that have today's schema.

        Each worker has a server of its own, as in ``make test``: some tests see whether an older
        transaction of the server is open, and another worker's would be one.
        """
        name = self._template_of_base()
        shares = [self._files()[worker :: self.workers] for worker in range(self.workers)]
        with ExitStack() as open_:
            urls = [open_.enter_context(_server_with_template(name)) for _ in shares]
            with ThreadPoolExecutor(self.workers) as pool:
                runs = list(pool.map(self._run_share, urls, shares))
        if any(done.returncode for done in runs):
            log = ROOT / ".local" / "upgrade" / "tests.log"
            log.write_text("".join(done.stdout + done.stderr for done in runs))
            lines = [line for done in runs for line in done.stdout.splitlines()]
            failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
            ends = [(done.stdout.strip() or done.stderr[-2_000:]).splitlines()[-1] for done in runs]
            raise UpgradeError("\n".join([*ends, *failed[:30], f"all of it: {log}"]))
        passed = sum(int(count) for done in runs for count in _PASSED.findall(done.stdout))
        return f"{passed:,} passed of {self.base.name} on today's schema"

    def _files(self) -> list[str]:
        """The release's test files, the largest first, so that shares of them are alike."""
        found = [path for suite in SUITES for path in (self.base.root / suite).rglob("test_*.py")]
        found.sort(key=lambda path: path.stat().st_size, reverse=True)
        return [str(path.relative_to(self.base.root)) for path in found]

    def _run_share(self, server_url: str, files: list[str]) -> subprocess.CompletedProcess[str]:
        return self.base.run(
            *("-m", "pytest", "-n", "1", "-p", "no:cacheprovider", *files),
            *(f"--deselect={each}" for each in LEFT_OUT),
            CONTEXT_SEARCH_TEST_DATABASE_URL=server_url,
        )

    def _template_of_base(self) -> str:
        code = (
            "from tests.stack import DatabaseFactory;"
            "print(DatabaseFactory('postgresql://postgres@127.0.0.1/postgres')._template)"
        )
        done = self.base.run("-c", code)
        if done.returncode:
            raise UpgradeError(done.stderr[-2_000:])
        return done.stdout.strip()

    # ------------------------------------------------------------ on shared parts

    def on_shared_parts(
        self,
        databases: DatabaseFactory,
        server_url: str,
        scratch: Path,
        prove: Callable[[SharedParts], str],
    ) -> str:
        """Has the release deployed on new parts, and proves something there."""
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        with shared_parts(databases, server_url, self.base, scratch) as shared:
            shared.start(self.base)
            try:
                said = prove(shared)
                if complaints := shared.complaints():
                    raise UpgradeError("logged meanwhile:\n" + "\n".join(complaints[:10]))
            except Exception as error:
                kept = ROOT / ".local" / "upgrade" / "logs"
                shutil.rmtree(kept, ignore_errors=True)
                shutil.copytree(shared.logs, kept)
                for note in (*shared.database_errors()[:5], f"logs of all functions: {kept}"):
                    error.add_note(note)
                raise
            return said

    def messages(self, shared: SharedParts) -> str:
        """Each version reads what the other one sends, and what a later one may send."""
        shared.owner_migrate(self.now)
        shared.start(self.now)
        if self.base.name in schema.LAST_MIGRATIONS:
            check_record(self.now, self.base)
        counted, wrong = 0, list[str]()
        for reader, sender in ((self.now, self.base), (self.base, self.now)):
            sent = recorded(sender)
            later = [{**each, "of_a_later_release": [1]} for each in sent]
            kinds = [{**each, "kind": f"{each['kind']}_v9"} for each in sent]
            read = shared.versions[reader]["index_node"].invoke(
                {"read": [json.dumps(each) for each in (*sent, *later, *kinds)]}
            )
            found = misread(read, sent, later, kinds)
            wrong += [f"{reader.name} of {sender.name}: {each}" for each in found]
            counted += len(read)
        if wrong:
            raise UpgradeError("\n".join(wrong))
        answered = answered_alike(shared)
        return f"{counted} messages read crosswise, {answered} recorded events answered alike"

    def mixed(self, shared: SharedParts) -> str:
        """Old and new functions side by side, each way round, then either for each call."""
        old, new = self.base, self.now
        shared.mix(**dict.fromkeys(_ROLES, old))
        walk = Walk(shared)
        walk.round()
        applied = shared.owner_migrate(self.now)
        walk.round()  # nothing but the schema is new
        shared.start(self.now)
        for chosen in ((old, new, new, old), (new, old, old, new)):
            shared.mix(**dict(zip(_ROLES, chosen, strict=True)))
            walk.round()
        shared.alternate(seed=1)
        walk.round()
        walk.round()
        return f"{len(applied)} migrations over its rows, {_said(shared, walk)}"

    def redeploy(self, shared: SharedParts) -> str:
        """Today's functions over the release's rows, then the release's, then today's."""
        old, new = self.base, self.now
        shared.mix(**dict.fromkeys(_ROLES, old))
        walk = Walk(shared, seed=2)
        walk.round()
        before = columns(shared)
        shared.owner_migrate(self.now)
        shared.start(self.now)
        shared.mix(**dict.fromkeys(_ROLES, new))
        walk.round()
        walk.round()
        added = written(shared, before)
        for version in (old, new):
            shared.mix(**dict.fromkeys(_ROLES, version))
            walk.look()
            walk.round()
            shared.rest()
        return f"{added} tables and columns of today's written, {_said(shared, walk)}"


def _reported(error: Exception) -> list[str]:
    """What is wrong, and with what was not foreseen where that happened."""
    foreseen = isinstance(error, UpgradeError)
    lines = (
        [str(error), *getattr(error, "__notes__", ())]
        if foreseen
        else traceback.format_exception(error)[-6:]
    )
    return "\n".join(lines).splitlines()


def _said(shared: SharedParts, walk: Walk) -> str:
    chunks, vector_rows = shared.rest()
    counts = walk.counts
    return (
        f"{counts['steps']} steps, {counts['calls']} calls, {shared.received} messages, 0 failed,"
        f" {counts['strings']} strings found, {counts['blips']} blips healed by one cleanup,"
        f" {chunks} chunks and {vector_rows} vector rows equal the documents"
    )


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """For turbopuffer's data and the functions' logs; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="context-search-upgrade-") as name:
        yield Path(name) / "site"


def main() -> int:
    """Returns 0 when everything held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", nargs="?", default=next(reversed(schema.LAST_MIGRATIONS), None))
    parser.add_argument("--part", help="schema, tests, messages, mixed or redeploy alone")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if options.base is None:
        print("prove-upgrade: there is no release to upgrade from")
        return 0
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # moto's line for each request
    began = time.monotonic()
    try:
        with checked_out(options.base) as base, scratch_folder() as scratch:
            now = today()
            requires = "the same" if base.python == now.python else "an environment of its own"
            print(f"{base.name} ({base.commit}) and today ({now.commit}); it requires {requires}")
            proof = Proof(base, now, options.part, options.workers)
            proof(scratch)
    except UpgradeError as error:
        print(f"prove-upgrade: {error}", file=sys.stderr)
        return 1
    seconds = f"{time.monotonic() - began:.0f} s"
    print(f"not proved: {', '.join(proof.red)}; {seconds}" if proof.red else f"proved in {seconds}")
    return 1 if proof.red else 0


if __name__ == "__main__":
    sys.exit(main())
