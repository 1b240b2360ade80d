"""Preview, execute, undo and restore, each as a ratio in one run; with --stack, searches meanwhile.

    python -m bench replacing           # the use cases over a PostgreSQL of this program's own
    python -m bench replacing --stack   # chunks embedded, and searches while a plan is executed

Contenders take turns, so that what else the machine does meets all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from bench._project import Project, new_project
from bench.history import Bench, document, seconds
from context_search.catalog.tables import ManageTables
from context_search.catalog.versions import ManageVersions
from context_search.core.callers import ProjectKey
from context_search.integrations.patterns.re2_patterns import Re2Patterns
from context_search.integrations.ports import SystemClock
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from context_search_editing.executing import ExecutePlans
from context_search_editing.previewing import AskedReplacement, PreviewReplacements
from context_search_editing.rules.plans import Choice, Plan
from context_search_editing.rules.replacing import ReplaceRequest
from context_search_editing.undoing import UndoPlans
from local.postgres.server import PostgresServer
from local.stack import Stack
from local.state import State

SIZES = {300_000: 40, 3_000_000: 15}
"""Size of a document → rounds."""
PREVIEWED = 5
PREVIEWS = 7
PLACES = 7
WORDS = ("warehouse", "factory")
TABLES = 100
SEARCHES = 120
WARM_UP = 20


class Rounds:
    """Seconds of contenders that take turns."""

    def __init__(self) -> None:
        self._spent: dict[str, list[float]] = {}

    def time(self, name: str, what: Callable[[], object]) -> None:
        """Times one turn."""
        self._spent.setdefault(name, []).append(seconds(what))

    def median(self, name: str) -> float:
        """Returns the seconds of a contender; the first turn, which warms up, is left out."""
        return median(self._spent[name][1:])

    def report(self, size: int, name: str, base: str, *, limit: float) -> None:
        """Prints a contender as a ratio to another one."""
        one, other = self.median(name), self.median(base)
        print(
            f"{size:>9} bytes  {name:34} {one * 1e3:8.1f} ms  / {base:24} {other * 1e3:8.1f} ms"
            f"  = {one / other:5.2f}  (at most {limit:g})",
            flush=True,
        )


def with_places(size: int) -> dict[str, list[str]]:
    """Returns a document in which the word is found at seven places far from each other."""
    text = document(size)
    chapters = text["chapters"]
    for place in range(PLACES):
        at = place * len(chapters) // PLACES
        chapters[at] = f"{chapters[at][:5_000]} {WORDS[0]} {chapters[at][5_000:]}"
    return text


class Desk:
    """The use cases of one project."""

    def __init__(self, bench: Bench, key: ProjectKey) -> None:
        store, clock, patterns = bench.store, SystemClock(), Re2Patterns()
        self.previews = PreviewReplacements(store, store, patterns, lambda _: "00" * 32, clock)
        self.executions = ExecutePlans(store, patterns, clock)
        self.undos = UndoPlans(store, clock)
        self.tables = ManageTables(store)
        self.versions = ManageVersions(store)
        self.key = key

    def preview(self, find: str, replace_with: str, *, regex: bool = False) -> Plan:
        """Returns a plan over the project."""
        request = ReplaceRequest(find, replace_with, regex=regex)
        shown = self.previews.start(self.key, AskedReplacement(request, samples=0))
        return shown.plan

    def cancel(self, plan: Plan) -> None:
        """Gives up a plan, so that there is room for others."""
        self.previews.cancel(self.key, plan.id)

    def execute(self, plan: Plan) -> None:
        """Executes all of a plan."""
        digest = plan.digest or b""
        self.executions.execute(self.key, plan.id, digest, Choice(), request_id=None)

    def undo(self, plan: Plan) -> None:
        """Takes a plan back."""
        self.undos.undo(self.key, plan.id, on_conflict="abort", dry_run=False, request_id=None)


def previews(bench: Bench, size: int) -> None:
    """Prints previews as ratios to reading the same documents and parsing them."""
    with bench.store.for_all("create a project") as work:
        key = ProjectKey(work.projects.add("previews").id)
    desk, rounds = Desk(bench, key), Rounds()
    made = [desk.tables.create(key, "t", None, with_places(size)).id for _ in range(PREVIEWED)]

    def read(*, parse: bool) -> None:
        for table_id in made:
            with bench.store.for_project(key.project_id) as work:
                part = work.tables.part(table_id, (), max_bytes=10 * size)
            if parse:
                json.loads((part and part.text) or "null")

    asked: dict[str, Callable[[], Plan]] = {
        "preview, nowhere": lambda: desk.preview("zeppelin", "×"),
        "preview, 35 matches": lambda: desk.preview(*WORDS),
        "preview, pattern": lambda: desk.preview("(ware)house", "$1", regex=True),
    }
    for _ in range(PREVIEWS):
        rounds.time("read and json.loads", partial(read, parse=True))
        rounds.time("read alone", partial(read, parse=False))
        for name, preview in asked.items():
            plans: list[Plan] = []
            rounds.time(name, lambda: plans.append(preview()))  # noqa: B023 - called at once
            desk.cancel(plans[0])
    whole = PREVIEWED * size
    # Parsing is the small part, so nothing that has to read can take much less than both.
    rounds.report(whole, "read alone", "read and json.loads", limit=1)
    for name, limit in zip(asked, (0.3, 1.6, 3), strict=True):
        rounds.report(whole, name, "read and json.loads", limit=limit)


def executions(bench: Bench, size: int, turns: int) -> None:
    """Prints execute, undo and restore as ratios to PATCH and PUT of the same document."""
    rounds, text = Rounds(), with_places(size)
    desks = {"kept": Desk(bench, bench.kept), "off": Desk(bench, bench.off)}
    made = {name: desk.tables.create(desk.key, "t", None, text) for name, desk in desks.items()}
    for turn in range(turns):
        for name, desk in desks.items():
            table_id = made[name].id
            plan = desk.preview(*WORDS)
            rounds.time(f"execute, {name}", partial(desk.execute, plan))
            rounds.time(f"undo, {name}", partial(desk.undo, plan))
            rounds.time(
                f"PATCH, {name}", partial(desk.tables.merge, desk.key, table_id, {"n": turn})
            )
            changed = {**text, "n": -turn}
            rounds.time(f"PUT, {name}", partial(desk.tables.replace, desk.key, table_id, changed))
        kept = desks["kept"]
        restore = kept.versions.restore
        rounds.time("restore", partial(restore, kept.key, made["kept"].id, 1))
    for name in desks:
        rounds.report(size, f"execute, {name}", "PATCH, off", limit=1.5)
        rounds.report(size, f"undo, {name}", f"execute, {name}", limit=1.2)
    rounds.report(size, "PATCH, kept", "PATCH, off", limit=1.25)
    rounds.report(size, "PUT, kept", "PUT, off", limit=1.25)
    rounds.report(size, "restore", "PUT, kept", limit=1.5)
    for name, desk in desks.items():
        desk.tables.delete(desk.key, made[name].id)


def pieces(bench: Bench, size: int) -> None:
    """Prints what a version of a document with seven changed places adds."""
    desk = Desk(bench, bench.kept)
    table = desk.tables.create(desk.key, "t", None, with_places(size))
    plan = desk.preview(*WORDS)
    stored = []
    for change in (desk.execute, desk.undo):
        change(plan)
        with bench.store.database.transaction() as tx:
            statement = (
                "SELECT count(*), sum(octet_length(content)) FROM version_piece"
                " WHERE table_id = :id"
            )
            stored.append(tx.run(statement, id=table.id)[0])
    [(pieces_before, bytes_before), (pieces_after, bytes_after)] = stored
    print(
        f"{size:>9} bytes  {PLACES} places: {pieces_after - pieces_before} new pieces (at most 9),"
        f" {(bytes_after - bytes_before) / 1e6:.2f} MB stored (at most 0.25);"
        f" the first version: {pieces_before}, {bytes_before / 1e6:.2f} MB"
    )


def chunks_written(project: Project, database: Database) -> None:
    """Prints how many chunks are new after places of one string were replaced."""
    statement = "SELECT turbopuffer_doc_id FROM chunks WHERE table_id = :id AND present"

    def chunks(table_id: int) -> set[str]:
        with database.transaction() as tx:
            return {str(row[0]) for row in tx.run(statement, id=table_id)}

    for places in (1, 3, 10):
        text = " ".join(document(200_000, places)["chapters"])
        for place in range(places):
            at = text.index(" ", (2 * place + 1) * len(text) // (2 * places))
            text = f"{text[:at]} {WORDS[0]}{text[at:]}"
        body = {"project_id": project.project_id, "name": "one string", "data": {"text": text}}
        table_id = int(project.post("/api/v1/tables", **body)["id"])
        tool = project.post(
            "/api/v1/tools/search",
            project_id=project.project_id,
            table_id=table_id,
            name=f"search_{places}",
        )
        state = f"/api/v1/tools/{tool['tool_id']}/search-index"
        project.wait_until_ready(state, at_least=1)
        before = chunks(table_id)
        execute(project, previewed(project, *WORDS, tables=[table_id]))
        project.wait_until_ready(state, at_least=1)
        new = len(chunks(table_id) - before)
        print(
            f"{places:3} places of a string of {len(before)} chunks: {new} new chunks"
            f" (at most {4 * places + 2})"
        )


def previewed(project: Project, find: str, replace_with: str, **more: object) -> dict[str, Any]:
    """Returns a plan."""
    where = f"/api/v1/projects/{project.project_id}/replace/preview"
    return project.post(where, find=find, replace_with=replace_with, samples=0, **more)


def execute(project: Project, plan: dict[str, Any]) -> None:
    """Executes all of a plan."""
    where = f"/api/v1/projects/{project.project_id}/replace/execute"
    project.post(where, plan_id=plan["plan_id"], digest=plan["digest"])


def new_tables(project: Project) -> list[int]:
    """Returns the ids of documents that all have the word, once they are in a project's index."""
    tables = [
        int(
            project.post(
                "/api/v1/tables",
                project_id=project.project_id,
                name=f"t{number}",
                data={"text": f"{WORDS[0]} {document(5_000, number)['chapters'][0]}"},
            )["id"]
        )
        for number in range(TABLES)
    ]
    project.post(f"/api/v1/projects/{project.project_id}/search-index")
    settled(project)
    return tables


def settled(project: Project) -> None:
    """Waits until a project's index has all that was written."""
    project.wait_until_ready(f"/api/v1/projects/{project.project_id}/search-index", at_least=TABLES)


def searches(project: Project, other: Project) -> None:
    """Prints p95 of project searches: idle, and while documents are replaced, here or elsewhere.

    What the other project's plan costs them is the processor that they share, not a lock.
    """
    tables = {project: new_tables(project), other: new_tables(other)}
    questions = (f"{WORDS[0]} number {number}" for number in count())
    route = f"/api/v1/projects/{project.project_id}/search"
    ask = partial(ask_once, project, route, questions)
    for _ in range(WARM_UP):
        ask()
    idle = [ask() for _ in range(SEARCHES)]
    show("idle", idle, idle)
    for name, owner in (("of it", project), ("of another project", other)):
        meanwhile: list[float] = []
        words = WORDS
        while len(meanwhile) < SEARCHES:
            plan = previewed(owner, *words, tables=tables[owner])
            words = (words[1], words[0])
            worker = threading.Thread(target=execute, args=(owner, plan))
            worker.start()
            while worker.is_alive():
                meanwhile.append(ask())
            worker.join()
            settled(owner)
        show(f"while {TABLES} documents {name} are replaced", meanwhile, idle)


def ask_once(project: Project, route: str, questions: Iterator[str]) -> float:
    """Returns the milliseconds of one search."""
    return seconds(partial(project.post, route, query=next(questions))) * 1e3


def show(name: str, milliseconds: list[float], idle: list[float]) -> None:
    """Prints p50 and p95, and p95 as a ratio to that of the idle system."""
    cuts, base = quantiles(milliseconds, n=20), quantiles(idle, n=20)
    print(
        f"project search, {name}: p50 {cuts[9]:.1f} ms, p95 {cuts[18]:.1f} ms,"
        f" {cuts[18] / base[18]:.2f} times idle (at most 1.2)",
        flush=True,
    )


def with_stack(folder: str) -> None:
    """Measures what needs the whole product."""
    state, given = State(Path(folder) / "state"), dict(os.environ)  # noqa: TID251 - handed on
    with Stack(state, given, report=lambda _: None) as stack:
        database = Database(DatabaseUrl.parse(stack.endpoints.database_url))
        project, _ = new_project(stack)
        chunks_written(project, database)
        searches(new_project(stack)[0], new_project(stack)[0])
        database.close()


def main() -> None:
    """Starts what is needed, measures, and stops it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--stack", action="store_true")
    with tempfile.TemporaryDirectory() as folder:
        if parser.parse_args().stack:
            with_stack(folder)
            return
        with PostgresServer(Path(folder), settings={"max_wal_size": "4GB"}) as server:
            bench = Bench.of(server.url)
            for size, turns in SIZES.items():
                previews(bench, size)
                executions(bench, size, turns)
            pieces(bench, max(SIZES))


if __name__ == "__main__":
    main()
