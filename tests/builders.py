"""What many tests make: texts, tables, tools, nodes on their way into the index; and waiting."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from context_search.core.callers import Principal, ProjectKey
from context_search.core.json_text import to_json
from context_search.core.messages import MESSAGE_ID, Message
from context_search.core.model import ChunkSet, Claim, Generation, Index, Project, Table
from context_search.integrations.ports import MessageBody
from context_search.postgres.pool import Transaction
from context_search.store import PostgresStore
from tests.stack import clear_rows
from tests.steps import SMALL, Steps

T = TypeVar("T")

_ENGLISH = re.findall(
    r"\w+",
    """archive board budget carrier century dividend engine estate ferry garden harbour inquiry
    journal kitchen ledger meadow notary orchard parish quarry railway season tenant uncle valley
    warehouse winter yard zeal""",
)
_CHINESE = "春夏秋冬山水花草鸟鱼城门桥街灯火书信客船风雨雪月东南西北父母兄弟老师学生朋友邻居"


def until(ask: Callable[[], T | None], timeout_s: float = 20.0, *, every_s: float = 0.05) -> T:
    """Asks again and again until the answer is true, and returns it.

    The one place where tests wait. Raises AssertionError when the time is over.
    """
    deadline = time.monotonic() + timeout_s
    while not (answer := ask()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not so after {timeout_s:g} s: the last answer was {answer!r}")
        time.sleep(every_s)
    return answer


def present(value: T | None) -> T:
    """The value, which must be there."""
    assert value is not None
    return value


def an_index() -> Index:
    """An index that is nowhere stored."""
    return Index(
        id=4, project_id=1, table_id=2, config=SMALL, generation=Generation(6, "project_1_table_2")
    )


@contextmanager
def aws_server() -> Iterator[dict[str, str]]:
    """moto's server in this process; gives the environment that leads boto3 to it."""
    from moto.server import ThreadedMotoServer  # a second that few tests need

    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }
    finally:
        server.stop()


def _after_a_word(chance: float) -> str:
    return " " if chance < 0.88 else ". " if chance < 0.98 else ".\n\n"


@lru_cache(maxsize=100)
def english(chars: int, seed: int = 0) -> str:
    """Prose of exactly so many characters, in paragraphs; the same for the same seed."""
    draw = random.Random(f"en{seed}")
    words: list[str] = []
    length = 0
    while length < chars:
        word = draw.choice(_ENGLISH) + _after_a_word(draw.random())
        words.append(word)
        length += len(word)
    return "".join(words)[:chars]


@lru_cache(maxsize=100)
def chinese(chars: int, seed: int = 0) -> str:
    """The same in Chinese."""
    draw = random.Random(f"zh{seed}")
    return "".join(
        draw.choice(_CHINESE) + ("。" if draw.random() < 0.06 else "") for _ in range(chars)
    )[:chars]


def planted(text: str, sentence: str, at: int) -> str:
    """``text`` with ``sentence`` as a paragraph of its own, which begins at character ``at``."""
    return f"{text[: at - 2]}\n\n{sentence}\n\n{text[at:]}"


class PlainSql:
    """Statements beside our code, as other programs send them."""

    store: PostgresStore

    @contextmanager
    def tx(self) -> Iterator[Transaction]:
        """A transaction for plain SQL."""
        with self.store.database.transaction() as tx:
            yield tx

    def sql(self, statement: str, **parameters: object) -> list[list[Any]]:
        """The rows of one statement in a transaction of its own."""
        with self.tx() as tx:
            return tx.run(statement, **parameters)

    def count(self, table: str) -> int:
        """How many rows a table has, of all projects."""
        [[rows]] = self.sql(f"SELECT count(*) FROM {table}")
        return int(rows)

    def begun(self, do: Callable[..., T], *values: object, **named: object) -> Future[T]:
        """Has a thread do something; returns when that is done or waits for a lock."""
        thread, watch = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        future = thread.submit(do, *values, **named)
        watch.submit(until, lambda: future.done() or bool(self.sql(_LOCK_WAITS))).result()
        thread.shutdown(wait=False)
        watch.shutdown()
        return future


_LOCK_WAITS = """
    SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


@dataclass(frozen=True)
class Workbench(Steps, PlainSql):
    """One project in a real database, and the steps of indexing one at a time."""

    store: PostgresStore
    project: Project

    @classmethod
    def of(cls, store: PostgresStore) -> Workbench:
        """A workbench with a project of its own."""
        with store.for_all("test") as work:
            return cls(store, work.projects.add("test"))

    @classmethod
    def alone(cls, store: PostgresStore) -> Workbench:
        """The same in a database that is emptied first."""
        clear_rows(store.database)
        return cls.of(store)

    @property
    def principal(self) -> Principal:
        """The project as a caller."""
        return ProjectKey(self.project.id)

    def table(self, document: object) -> Table:
        """A table with this document."""
        return self.work.tables.add(self.project.id, "table", None, to_json(document))

    def finish(self, claim: Claim) -> ChunkSet:
        """Writes the chunk rows, says that turbopuffer has them, and activates the set."""
        chunk_set = self.begin(claim)
        self.mark(chunk_set)
        assert self.work.chunks.activate([(claim, chunk_set)])
        return chunk_set

    def indexed(self, index: Index) -> list[ChunkSet]:
        """Enumerates and brings every queued node to its end; returns their sets."""
        return [self.finish(self.claim(node_id)) for node_id in self.enumerate(index)]


def message_of(message: Message, sql: Callable[..., list[list[Any]]]) -> MessageBody:
    """A message that is in the outbox of a database, as the queue has it."""
    body = message.to_json()
    [[message_id]] = sql(
        "INSERT INTO outbox (body, sent_at) VALUES (CAST(:body AS jsonb), now()) RETURNING id",
        body=json.dumps(body),
    )
    return {**body, MESSAGE_ID: message_id}
