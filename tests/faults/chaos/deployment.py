"""What the chaos happens to: a database, a turbopuffer server, and healthy hands that mend it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from context_search.core.callers import Principal, ProjectKey
from context_search.core.config import IndexConfig
from context_search.core.errors import ContextSearchError
from context_search.core.messages import Message
from context_search.core.model import Index, SearchTool, Table
from context_search.indexing.node_report import RetryLater
from context_search.integrations.ports import MessageBody
from testing.in_memory.queue import ListQueue
from tests.builders import message_of, until
from tests.faults.chaos.parts import CONFIG, ChaosParts, wanted_tool
from tests.faults.chaos.stored import namespaces

SETTLES_WITHIN_S = 240.0
_UNREST = """
    SELECT (SELECT count(*) FROM outbox), (SELECT count(*) FROM tombstone),
           (SELECT count(*) FROM index_generation WHERE state IN ('retired', 'queued', 'building')),
           (SELECT count(*) FROM context_table WHERE context_search_remove_at IS NOT NULL),
           (SELECT count(*) FROM tool WHERE context_search_remove_at IS NOT NULL),
           (SELECT count(*) FROM replace_plan WHERE state IN ('previewing', 'executing')),
           (SELECT count(*) FROM node WHERE state IN ('queued', 'claimed')),
           (SELECT count(*) FROM index_generation AS generation
            JOIN index_table ON index_table.index_id = generation.index_id
            LEFT JOIN comparison ON generation_id = generation.id
                                AND comparison.table_id = index_table.table_id
            WHERE state = 'active' AND comparison.revision IS DISTINCT FROM index_table.revision)
"""


@dataclass
class Deployment:
    """Healthy parts; ``waiting`` are the messages that nobody has carried out yet."""

    database_url: str
    turbopuffer_url: str
    parts: ChaosParts
    queue: ListQueue
    waiting: list[tuple[float, MessageBody]] = field(default_factory=list)

    @classmethod
    def of(cls, database_url: str, turbopuffer_url: str) -> Deployment:
        """A site with parts of its own."""
        queue = ListQueue()
        return cls(
            database_url, turbopuffer_url, ChaosParts(database_url, turbopuffer_url, queue), queue
        )

    def project(self) -> Principal:
        """A new project as a caller."""
        project, _ = self.parts.use_cases.tables.create_project("chaos")
        return ProjectKey(project.id)

    def table(self, owner: Principal, document: object) -> Table:
        """A new table."""
        return self.parts.use_cases.tables.create(owner, "table", None, document)

    def tool(self, table: Table, scope: str = "", config: IndexConfig = CONFIG) -> SearchTool:
        """A new tool over it; the messages to index it wait."""
        wanted = wanted_tool(table.project_id, table.id, scope, config)
        return self.parts.use_cases.tools.tools.create(wanted).tool

    def replace(self, table: Table, document: object) -> None:
        """Writes another document."""
        self.parts.use_cases.tables.replace(ProjectKey(table.project_id), table.id, document)

    def index(self, tool: SearchTool) -> Index:
        """The index that serves a tool."""
        with self.parts.store.for_all("test") as work:
            index = work.indexes.find(tool.index_id)
        assert index is not None
        return index

    def is_live(self, table: Table) -> bool:
        """Whether a table is there and not deleted."""
        with self.parts.store.for_all("test") as work:
            return work.tables.find(table.id, project_id=table.project_id) is not None

    def revision(self, table: Table) -> int:
        """The revision of a table's document."""
        with self.parts.store.for_all("test") as work:
            return work.tables.read(table.id)[0]

    def tools(self, index_id: int) -> int:
        """How many live tools an index serves."""
        with self.parts.store.for_all("test") as work:
            return len(work.tools.of_index(index_id))

    def orders(self) -> list[MessageBody]:
        """Takes what waits out of the queue."""
        taken, self.queue.messages = self.queue.messages, []
        return taken

    def order(self, order: Message) -> MessageBody:
        """A message that is in the outbox, as the queue has it."""
        with self.parts.database.transaction() as tx:
            return message_of(order, tx.run)

    def receive(self, messages: Sequence[MessageBody]) -> None:
        """Puts messages into the queue."""
        self.queue.messages += messages

    def later(self, after_s: float, message: MessageBody) -> None:
        """Lets a message come again after some seconds."""
        self.waiting.append((time.monotonic() + after_s, message))

    def work(self) -> None:
        """Carries out every message that is due, those that come meanwhile included."""
        while due := self._due():
            for message in due:
                try:
                    self.parts.handle(message)
                except RetryLater as later:
                    self.later(later.after_s, message)
                except ContextSearchError as error:
                    if not error.retryable:
                        raise
                    self.receive([message])

    def _due(self) -> list[MessageBody]:
        now = time.monotonic()
        due = self.orders() + [message for at, message in self.waiting if at <= now]
        self.waiting = [(at, message) for at, message in self.waiting if at > now]
        return due

    def unrest(self) -> list[int]:
        """How much waits: messages, then what ``_UNREST`` counts."""
        with self.parts.database.transaction() as tx:
            [row] = tx.run(_UNREST)
        return [len(self.queue.messages), *row]

    def settle(self) -> None:
        """Lets healthy hands work until nothing waits."""
        with self.parts.database.transaction() as tx:  # the minute that a relay has for sending
            tx.run("UPDATE outbox SET claimed_until = NULL, due_at = LEAST(due_at, now())")
        self.free_permits()

        def is_quiet() -> bool:
            report = self.parts.use_cases.cleanup.run(self.parts.in_time())
            assert report.errors == []
            self.work()
            return not any(self.unrest())

        try:
            until(is_quiet, SETTLES_WITHIN_S, every_s=0.2)
        except AssertionError as error:
            raise AssertionError(f"{error}; what waits: {self.unrest()}") from error
        self.waiting.clear()

    def free_permits(self) -> None:
        """Takes from the killed what they hold for as long as they could live."""
        with self.parts.database.transaction() as tx:
            tx.run("DELETE FROM permit")

    def clear(self) -> None:
        """Forgets everything, so that the next test has little to look after."""
        with self.parts.database.transaction() as tx:
            tx.run("TRUNCATE project, index_generation, tombstone, outbox CASCADE")
        for namespace in namespaces(self.turbopuffer_url):
            self.parts.vectors.delete_namespace(namespace)
        self.orders()
