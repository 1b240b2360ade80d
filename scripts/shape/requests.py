"""How much of the code a request takes: files of ours, and passes between use cases.

The deployed functions run in this process on the parts of ``make serve``: PostgreSQL, the
turbopuffer server, an emulator of SQS and the shipped model. Each request is made twice, and the
second one counts, so parts that a process makes once do not.
"""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, Self

from local.embedding import register
from local.environment import Choice, function_environment, process_environment
from local.http_events import HttpRequest, request_event, response_of
from local.invocation import ACCOUNT, REGION, LambdaFunction
from local.options import ROOT
from local.poller import failed_ids, sqs_event
from local.queues import create_queues, sqs_client
from local.routes import RouteTable
from local.stack import Stack
from local.state import DEFAULT_STATE, State
from local.template import read_template
from scripts.shape.modules import is_use_case, name_of

_TEMPLATE = ROOT / "template.yaml"
_DOCUMENT = {
    "harbour": "The harbour keeps a winter ledger of every ship. " * 20,
    "quay": "Lamps on the quay burn until dawn and nobody counts them. " * 20,
}


@dataclass(slots=True)
class Taken:
    """What a request took.

    ``passes`` counts how often a module with use cases calls or resumes a function of another
    one, also where code of others or of Python lies between them.
    """

    files: set[str] = field(default_factory=set)
    passes: int = 0


class Profiler:
    """Notes which code of a tree runs, in this thread and in those that start after it was made."""

    def __init__(self, root: Path) -> None:
        self._taken: Taken | None = None
        self._name_of = cache(lambda filename: _name_below(root, Path(filename)))
        threading.setprofile(self._note)

    @contextmanager
    def noting(self) -> Iterator[Taken]:
        """Give what is filled while the block runs."""
        self._taken = taken = Taken()
        sys.setprofile(self._note)
        try:
            yield taken
        finally:
            sys.setprofile(None)
            self._taken = None

    def close(self) -> None:
        """Leave threads alone that start from now on."""
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        taken = self._taken
        if taken is None or event != "call":
            return
        name = self._name_of(frame.f_code.co_filename)
        if name is None:
            return
        taken.files.add(name)
        caller = self._caller(frame)
        if caller is not None and caller != name and is_use_case(name) and is_use_case(caller):
            taken.passes += 1

    def _caller(self, frame: FrameType) -> str | None:
        """Return the nearest module of the tree below a frame."""
        below = frame.f_back
        while below is not None:
            if name := self._name_of(below.f_code.co_filename):
                return name
            below = below.f_back
        return None


def _name_below(root: Path, path: Path) -> str | None:
    folders = (root / "shared", root / "functions")
    return name_of(path, root) if any(map(path.is_relative_to, folders)) else None


class Functions:
    """The deployed functions in this process, and the queue between them."""

    def __init__(self, stack: Stack, state: State, user: Mapping[str, str]) -> None:
        template, places = read_template(_TEMPLATE), stack.endpoints
        settings = function_environment(user, Choice.of(user), places, state.secrets(), _TEMPLATE)
        os.environ.update(settings)  # noqa: TID251 - that of the functions
        register()
        self._queue_url = places.queue_url
        self._sqs = sqs_client(places.emulator_url)
        create_queues(self._sqs, template)
        functions = [LambdaFunction.load(spec) for spec in template.functions]
        self._routes = RouteTable(functions)
        [self._worker] = [function for function in functions if function.spec.queues]

    def ask(
        self, method: str, path: str, body: object, credentials: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return the answer to a request. Raises RuntimeError for a refusal."""
        path = f"/api/v1{path}"
        match = self._routes.match(method, path)
        if match is None:
            raise RuntimeError(f"no function serves {method} {path}")
        headers = (("content-type", "application/json"), *credentials.items())
        content = json.dumps(body).encode()
        request = HttpRequest(method, path, "", headers, content, "127.0.0.1", "HTTP/1.1")
        answer = response_of(match.function.invoke(request_event(request, match)))
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {answer.body.decode()}")
        return dict(json.loads(answer.body))

    def work(self) -> None:
        """Give the worker messages until the queue is empty. Raises RuntimeError for a failure."""
        while messages := self._sqs.receive_message(
            QueueUrl=self._queue_url,
            MaxNumberOfMessages=10,
            MessageSystemAttributeNames=["All"],
        ).get("Messages"):
            report = self._worker.invoke(sqs_event(messages, f"arn:aws:sqs:{REGION}:{ACCOUNT}:q"))
            if failed_ids(report, [message["MessageId"] for message in messages]):
                raise RuntimeError("the worker reports a failure")
            for message in messages:
                receipt = message["ReceiptHandle"]
                self._sqs.delete_message(QueueUrl=self._queue_url, ReceiptHandle=receipt)


def take_requests() -> dict[str, Taken]:
    """Return what a search, the worker after a change of one string, and an undo take."""
    found: dict[str, Taken] = {}
    profiler = Profiler(ROOT)
    state = State(DEFAULT_STATE / "shape")
    user = process_environment(os.environ, ROOT)  # noqa: TID251 - handed on
    if state.root.exists():
        state.wipe()

    def measure(stack: Stack) -> None:
        project = Project.made(Functions(stack, state, user), stack.internal_secret)
        for find, question in (
            ("winter", "who counts the lamps"),
            ("every", "where are the ships"),
        ):
            found.update(project.walk(profiler, find, question))

    with redirect_stdout(io.StringIO()), Stack(state, user, before_serving=measure):
        profiler.close()
    return found


@dataclass(slots=True)
class Project:
    """A project with one document of two strings, and a Search Tool over it."""

    functions: Functions
    id: int
    key: str
    table_id: int
    tool_id: int
    document: dict[str, str]

    @classmethod
    def made(cls, functions: Functions, internal_secret: str) -> Self:
        """Make one, completely indexed."""
        secret = {"x-internal-secret": internal_secret}
        new = functions.ask("POST", "/projects", {"name": "shape"}, secret)
        key = {"authorization": f"Bearer {new['api_key']}"}
        body = {"project_id": new["id"], "name": "shape", "data": _DOCUMENT}
        table = functions.ask("POST", "/tables", body, key)
        body = {
            "project_id": new["id"],
            "table_id": table["id"],
            "name": "search",
            "search_config": {"chunk_threshold": 100},
        }
        tool = functions.ask("POST", "/tools/search", body, key)
        functions.work()
        return cls(
            functions, new["id"], new["api_key"], table["id"], tool["tool_id"], dict(_DOCUMENT)
        )

    def walk(self, profiler: Profiler, find: str, question: str) -> dict[str, Taken]:
        """Search, replace ``find`` in one string, change the other one, and undo."""
        replace = f"/projects/{self.id}/replace"
        with profiler.noting() as search:
            answer = self._ask("POST", f"/tools/{self.tool_id}/search", {"query": question})
        if not answer["results"] or answer["retrieval"]["degraded"]:
            raise RuntimeError(f"no whole search: {answer}")
        plan = self._ask("POST", f"{replace}/preview", {"find": find, "replace_with": "summer"})
        chosen = {"plan_id": plan["plan_id"], "digest": plan["digest"]}
        self._ask("POST", f"{replace}/execute", chosen)
        self.functions.work()
        now = self.document["harbour"].replace(find, "summer")
        self.document["quay"] += "One more lamp. "
        document = {**self.document, "harbour": now}
        self._ask("PUT", f"/tables/{self.table_id}/data", document)
        with profiler.noting() as worker:
            self.functions.work()
        with profiler.noting() as undo:
            undone = self._ask("POST", f"{replace}/{plan['plan_id']}/undo", {})
        if undone["state"] != "done" or not undone["reverted_count"]:
            raise RuntimeError(f"no whole undo: {undone}")
        self.functions.work()
        return {"search": search, "worker": worker, "undo": undo}

    def _ask(self, method: str, path: str, body: object) -> dict[str, Any]:
        return self.functions.ask(method, path, body, {"authorization": f"Bearer {self.key}"})
