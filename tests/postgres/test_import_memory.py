"""What an import takes of the memory of a function, measured as the most that a process held."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from context_search.catalog.rules.uploads import FUNCTION_BYTES, MEMORY_A_BYTE
from context_search.postgres.url import DatabaseUrl
from local.options import ROOT
from tests.profile import THOROUGH

BYTES = 30_000_000 if THOROUGH else 10_000_000
RECORD = b'{"id":12345,"name":"parrot","ok":true,"price":12.5}'
TEXT = b'{"text":"' + b"The parrot clinic is closed. " * 10_000 + b'"}'
CHINESE = b'{"text":"' + "鹦鹉诊所每周三关门。".encode() * 10_000 + b'"}'
PROGRAM = """
import json, sys
from pathlib import Path
from dataclasses import replace

from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from context_search.postgres.url import DatabaseUrl
from context_search.catalog.rules.uploads import NewUpload
from context_search.catalog.imports import ImportDocument


class File:
    def read(self, key):
        with open(sys.argv[2], "rb") as file:
            while piece := file.read(1 << 20):
                yield piece
    def delete(self, key):
        pass

def most():
    [line] = [each for each in Path("/proc/self/status").read_text().splitlines()
              if each.startswith("VmHWM")]
    return int(line.split()[1]) * 1024

store = PostgresStore(Database(DatabaseUrl(**json.loads(sys.argv[1])), max_connections=2,
                               statement_timeout_ms=80_000))
with store.for_all("test") as work:
    project = work.projects.add("p")
    table = work.tables.add(project.id, "t", "", "{}")
    size = Path(sys.argv[2]).stat().st_size
    made = work.uploads.add(NewUpload(project.id, table.id, sys.argv[3], size))
    work.uploads.save(replace(made, state="importing", bytes=size))
before = most()
done = ImportDocument(store, store, File()).run(made.id)
print(json.dumps([done, before, most()]))
"""


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("form", "piece", "at_most"),
    [
        ("json", RECORD, MEMORY_A_BYTE),
        ("jsonl", RECORD, MEMORY_A_BYTE),
        ("json", TEXT, MEMORY_A_BYTE),
        ("json", CHINESE, MEMORY_A_BYTE),
        ("json", b'{"a":{},"b":[]}', MEMORY_A_BYTE),
        ("json", b"1.5", MEMORY_A_BYTE),
        ("json", b"{}", 17),
    ],
    ids=["records", "lines", "text", "chinese", "objects", "numbers", "empty"],
)
def test_an_import_takes_no_more_memory_than_is_stated(
    database_url: DatabaseUrl, tmp_path: Path, form: str, piece: bytes, at_most: int
) -> None:
    pieces = [piece] * (BYTES // len(piece))
    content = b"\n".join(pieces) if form == "jsonl" else b"[" + b",".join(pieces) + b"]"
    document = tmp_path / "document"
    document.write_bytes(content)
    done, before, most = ran(PROGRAM, database_url, document, form)
    assert done == "done"
    assert before < FUNCTION_BYTES
    assert most - before <= at_most * len(content)


AGAIN = """
from context_search.core.callers import ProjectKey
from context_search.access.lookup import live_table
from context_search.catalog.versions import CompareVersions, ManageVersions, page_of_versions

caller, versions = ProjectKey(project.id), ManageVersions(store)
with store.for_all("test") as work:
    again = work.uploads.add(NewUpload(project.id, table.id, sys.argv[3], size))
    work.uploads.save(replace(again, state="importing", bytes=made.bytes))
with store.for_all("test") as work:
    work.tables.replace(table.id, '{"small": 1}', expected_revision=None)
Path("/proc/self/clear_refs").write_text("5")
importer = ImportDocument(store, store, File())
dones = [importer.run(again.id)]
with store.for_all("test") as work:
    last = work.uploads.add(NewUpload(project.id, table.id, sys.argv[3], size + len("0, ")))
    work.uploads.save(replace(last, state="importing", bytes=made.bytes))
Path(sys.argv[2]).write_text('[0, ' + Path(sys.argv[2]).read_text()[1:])
dones.append(importer.run(last.id))  # records the one before
imported = most()
Path("/proc/self/clear_refs").write_text("5")
restored = versions.restore(caller, table.id, 4)
dones.append(importer.run(restored.id))
with store.for_project(project.id) as work:
    page = page_of_versions(work, live_table(work, caller, table.id), below=None)
recorded = [each.gap for each in page.rows]
differences = CompareVersions(store).compare(caller, table.id, 4, 5, after=0).differences
print(json.dumps([dones, recorded, imported, most(), [each.json_pointer for each in differences]]))
"""


@pytest.mark.slow
def test_a_large_version_is_recorded_restored_and_compared_within_the_memory_of_an_import(
    database_url: DatabaseUrl, tmp_path: Path
) -> None:
    pieces = [RECORD] * (BYTES // len(RECORD))
    document = tmp_path / "document"
    document.write_bytes(b"[" + b",".join(pieces) + b"]")
    program = PROGRAM.replace("print(json.dumps([done, before, most()]))", AGAIN)
    dones, gaps, imported, restored, places = ran(program, database_url, document, "json")
    assert dones == ["done"] * 3
    # The small one was written by another program.
    assert gaps == [None, None, None, None, "overwritten_by_sql", None]
    assert places == ["/0"]
    size = document.stat().st_size
    assert imported <= FUNCTION_BYTES + MEMORY_A_BYTE * size
    assert restored <= FUNCTION_BYTES + 2 * 8 * size  # two documents are compared


def ran(program: str, database_url: DatabaseUrl, document: Path, form: str) -> list[Any]:
    """Returns what a program prints, which has a process of its own."""
    names = ("user", "password", "host", "port", "database", "sslmode", "sslrootcert", "socket_dir")
    url = json.dumps({name: getattr(database_url, name) for name in names})
    ended = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program, url, str(document), form],
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return list(json.loads(ended.stdout))
