"""What an import takes of the memory of a function, measured as the most that a process held."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from context_search.adapters.postgres.url import DatabaseUrl
from context_search.domain.uploads import FUNCTION_BYTES, MEMORY_A_BYTE
from local.options import ROOT

BYTES = 30_000_000
RECORD = b'{"id":12345,"name":"parrot","ok":true,"price":12.5}'
TEXT = b'{"text":"' + b"The parrot clinic is closed. " * 10_000 + b'"}'
CHINESE = b'{"text":"' + "鹦鹉诊所每周三关门。".encode() * 10_000 + b'"}'
PROGRAM = """
import json, sys
from pathlib import Path
from dataclasses import replace

from context_search.adapters.postgres.pool import Database
from context_search.adapters.postgres.store import PostgresStore
from context_search.adapters.postgres.url import DatabaseUrl
from context_search.domain.uploads import NewUpload
from context_search.services.catalog.imports import ImportDocument


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
    made = work.uploads.add(NewUpload(project.id, table.id, sys.argv[3]))
    work.uploads.save(replace(made, state="importing", bytes=Path(sys.argv[2]).stat().st_size))
before = most()
done = ImportDocument(store, store, File()).run(made.id)
print(json.dumps([done, before, most()]))
"""


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
    names = ("user", "password", "host", "port", "database", "sslmode", "sslrootcert", "socket_dir")
    url = json.dumps({name: getattr(database_url, name) for name in names})
    ended = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", PROGRAM, url, str(document), form],
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    done, before, most = json.loads(ended.stdout)
    assert done == "done"
    assert before < FUNCTION_BYTES
    assert most - before <= at_most * len(content)
