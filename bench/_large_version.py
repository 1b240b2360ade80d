"""One large document through the whole product: recorded, listed, compared, restored."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from bench._project import POLL_S, BenchError, Project, new_project
from local.queues import put_upload
from local.stack import Stack

IMPORT_S = 600.0
EDITS = 7


class Functions:
    """The process of all functions of a local stack, and the memory that they take."""

    def __init__(self, pid: int) -> None:
        self._proc = Path(f"/proc/{pid}")
        self._at_rest = self._megabytes("VmRSS")
        print(f"the functions at rest: {self._at_rest:,.0f} MB")

    def step(self, name: str, what: Callable[[], object]) -> None:
        """Prints the seconds of a step, the most memory meanwhile, without that at rest, and
        what it gave.
        """
        (self._proc / "clear_refs").write_text("5", encoding="utf-8")  # the most begins anew
        begun = time.perf_counter()
        gave = what()
        spent = time.perf_counter() - begun
        more = self._megabytes("VmHWM") - self._at_rest
        print(f"{name:36} {spent:6.1f} s {more:7,.0f} MB more  {gave}", flush=True)

    def _megabytes(self, name: str) -> float:
        lines = (self._proc / "status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) * 1_024 / 1e6 for line in lines if line.startswith(name))


@dataclass(frozen=True, slots=True)
class LargeTable:
    """A table whose documents come by upload."""

    project: Project
    emulator_url: str
    id: int

    @property
    def route(self) -> str:
        """Where it lies."""
        return f"/api/v1/tables/{self.id}"

    def upload(self, content: bytes) -> dict[str, Any]:
        """Puts a document into the bucket; returns the upload, which the queue will import."""
        sha256 = hashlib.sha256(content).hexdigest()
        asked = {"format": "json", "size": len(content), "sha256": sha256}
        made = self.project.post(f"{self.route}/uploads", **asked)
        put_upload(self.emulator_url, made["url"], content)
        return made

    def complete(self, upload: dict[str, Any]) -> str:
        """Lets the queue import an upload that is in the bucket; returns how that ended."""
        self.project.post(f"{self.route}/uploads/{upload['upload_id']}/complete")
        return self.imported(upload)

    def imported(self, upload: dict[str, Any]) -> str:
        """Returns how an import ended. Raises BenchError when it does not end."""
        route, begun = f"{self.route}/uploads/{upload['upload_id']}", time.monotonic()
        while time.monotonic() - begun < IMPORT_S:
            with suppress(httpx2.TransportError):
                state = self.project.http.get(route).json()
                if state["status"] in ("done", "failed"):
                    return f"{state['status']}, revision {state['revision']}"
            time.sleep(POLL_S)
        raise BenchError(f"the import did not end within {IMPORT_S:g} s")

    def restore(self, revision: int) -> str:
        """Restores a version through the queue."""
        return self.imported(self.project.post(f"{self.route}/versions/{revision}/restore"))

    def get(self, route: str) -> Any:
        """Returns an answer, or the code of the error."""
        answer = self.project.http.get(f"{self.route}{route}")
        return answer.json() if answer.is_success else answer.json()["code"]

    def versions(self) -> str:
        """Returns the revisions, and how long each is."""
        rows = self.get("/versions")["versions"]
        reported = (f"{row['revision']}: {row['bytes'] or row['gap'] or 'live'}" for row in rows)
        return ", ".join(reported)

    def read(self, revision: int) -> str:
        """Returns how long a part of a version is, or why it is not shown."""
        answer = self.get(f"/versions/{revision}/data?pointer=/chapters/3")
        return answer if answer == "DOCUMENT_TOO_LARGE" else f"{len(answer)} characters"

    def compared(self, before: int, after: int) -> str:
        """Returns how many changes there are, or why they are not shown."""
        answer = self.get(f"/versions/{before}/diff?to={after}")
        return answer if isinstance(answer, str) else f"{len(answer['changes'])} changes"


def edited(document: dict[str, list[str]]) -> dict[str, list[str]]:
    """Returns a document with an edit at some places that are far from each other."""
    chapters = list(document["chapters"])
    for place in range(EDITS):
        at = place * len(chapters) // EDITS
        chapters[at] = f"{chapters[at][:500]} EDIT {chapters[at][500:]}"
    return {"chapters": chapters}


def large_version(stack: Stack, document: dict[str, list[str]]) -> None:
    """Imports a document and an edited one over it, then lists, compares and restores."""
    functions, (project, _) = Functions(stack.functions_pid), new_project(stack)
    asked = {"project_id": project.project_id, "name": "large", "data": {}}
    table = LargeTable(
        project,
        str(stack.endpoints.emulator_url),
        int(project.post("/api/v1/tables", **asked)["id"]),
    )
    for name, each in (
        ("import over an empty document", document),
        ("import, records what it overwrites", edited(document)),
    ):
        # What puts it into the bucket is no part of the product.
        content = json.dumps(each).encode()
        upload = table.upload(content)
        print(f"{len(content) / 1e6:.0f} MB are in the bucket", flush=True)
        del content
        functions.step(name, lambda upload=upload: table.complete(upload))  # type: ignore[misc]
    functions.step("list", table.versions)
    functions.step("read a part of the old one", lambda: table.read(2))
    functions.step("compare both", lambda: table.compared(2, 3))
    functions.step("restore, records what it overwrites", lambda: table.restore(2))
    functions.step("list", table.versions)
    functions.step("compare the restored one", lambda: table.compared(2, 4))
