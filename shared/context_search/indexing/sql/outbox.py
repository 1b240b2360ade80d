"""The outbox in Postgres."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from context_search.core.messages import (
    FEW_NODES,
    LONG_STRING,
    LONGEST_PAUSE_S,
    MOST_SHARED,
    SMALL_STRING,
    Message,
    SmallMessage,
    long_window,
    message_key,
    shared_messages,
    together,
)
from context_search.integrations.ports import MessageBody
from context_search.postgres.pool import Transaction
from context_search.postgres.visible_rows import IS_DUE, TABLE_OF_CALLER

# Whose message it is, by what it names.
_PROJECT = """
    CASE body ->> 'kind'
        WHEN 'enumerate' THEN (
            SELECT project_id FROM search_index WHERE id = CAST(body ->> 'index_id' AS bigint))
        WHEN 'calibrate' THEN (
            SELECT project_id FROM search_index WHERE id = CAST(body ->> 'index_id' AS bigint))
        WHEN 'import' THEN (
            SELECT project_id FROM upload WHERE id = CAST(body ->> 'upload_id' AS bigint))
        WHEN 'plan' THEN (
            SELECT project_id FROM replace_plan WHERE id = CAST(body ->> 'plan_id' AS bigint))
        ELSE (
            SELECT (SELECT project_id FROM context_table WHERE context_table.id = node.table_id)
            FROM node WHERE node.id = CAST(
                COALESCE(body ->> 'node_id', body -> 'node_ids' ->> 0) AS bigint))
    END
"""
_IS_LONG = """
    COALESCE((SELECT char_count >= :long FROM node
              WHERE id = CAST(body ->> 'node_id' AS bigint)), false)
"""
_IS_COMPARISON = "body ->> 'kind' = 'enumerate'"
_IS_FREE = "(claimed_until IS NULL OR claimed_until < statement_timestamp())"
_WAITS = f"sent_at IS NULL AND {_IS_FREE} AND {IS_DUE}"
# Never in the queue so far: one that is lost, or comes late, names what it was sent with.
_MAY_SHARE = f"""
    (claimed_at IS NULL AND begun_at IS NULL AND due_at IS NULL
     AND body ->> 'kind' IN ('node', 'nodes')
     AND COALESCE(jsonb_array_length(body -> 'node_ids'), 1) <= {FEW_NODES:d})
"""
# The messages of a project that have a place in the queue, and those that are being sent.
_PLACES = f"""
    SELECT is_long FROM outbox WHERE project_id = :project AND sent_at IS NOT NULL AND {IS_DUE}
    UNION ALL
    SELECT is_long FROM outbox WHERE project_id = :project AND sent_at IS NULL
      AND claimed_until >= statement_timestamp()
"""


@dataclass(frozen=True, slots=True)
class Outbox:
    """Messages by project. One waits, is in the queue, is begun by a worker, may rest, and is done.

    In the queue, a project has at most ``window`` messages that do not rest, and as many that do;
    of those for strings of a million characters or more, a quarter of that (``long_window``).
    """

    DUE: ClassVar = """
        SELECT CASE WHEN sent_at IS NULL THEN COALESCE(GREATEST(due_at, claimed_until), now())
            ELSE GREATEST(sent_at, begun_at, due_at) + make_interval(secs => :silent) END
        FROM outbox
    """
    tx: Transaction

    def add(self, bodies: Iterable[MessageBody]) -> list[int]:
        """Stores messages and returns the projects that they are of, ascending.

        An equal message that nobody has begun is enough, and nobody begins it before the
        transaction ends. A project that cannot be told is 0.
        """
        # Each key once, or the statement would meet its own row; in order, so that two
        # transactions cannot wait for each other.
        messages = [(message_key(message), message) for message in bodies]
        distinct = {key or json.dumps(message): (key, message) for key, message in messages}
        rows = [{"key": key, "body": body} for _, (key, body) in sorted(distinct.items())]
        if not rows:
            return []
        # DO UPDATE locks the message that is there. DO NOTHING would not: a worker could begin it,
        # read the document as it was before this transaction, and call it done.
        found = self.tx.run(
            f"""
            INSERT INTO outbox (body, project_id, key, is_long)
            SELECT body, COALESCE({_PROJECT}, 0), key, {_IS_LONG}
            FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS row (key text, body jsonb)
            ON CONFLICT (key) WHERE begun_at IS NULL DO UPDATE SET key = excluded.key
            RETURNING project_id
            """,
            rows=json.dumps(rows),
            long=LONG_STRING,
        )
        return sorted({project_id for [project_id] in found})

    def withdraw(self, message: Message) -> None:
        """Deletes a message that nobody has begun: the caller carries it out."""
        self.tx.run(
            "DELETE FROM outbox WHERE key = :key AND begun_at IS NULL",
            key=message_key(message.to_json()),
        )

    def take(self, project_id: int, *, window: int) -> list[tuple[int, MessageBody]]:
        """Returns waiting messages of a project by id, as many as its window has room for.

        Comparisons come first: one of them may say that no tool needs the strings of the others.
        Then the oldest.
        They are the caller's to send: others leave them alone for a minute. Where more messages for
        small strings wait than ``window``, some go along in the message of one that is taken for
        the first time (``shared_messages``): its message is for all of them then, and theirs are
        forgotten.
        """
        # One at a time counts the places of a project; the count has to see what the last one did.
        self.tx.run(
            "SELECT pg_advisory_xact_lock(hashtextextended('context_search.orders', :project))",
            project=project_id,
        )
        rows = self.tx.run(
            f"""
            WITH places AS ({_PLACES}),
            comparisons AS MATERIALIZED (  -- in FROM it may be read again, and find others
                SELECT id FROM outbox
                WHERE project_id = :project AND {_WAITS} AND {_IS_COMPARISON}
                ORDER BY id LIMIT GREATEST(0, :window - (SELECT count(*) FROM places))
                FOR UPDATE SKIP LOCKED),
            others AS MATERIALIZED (
                SELECT id, {_MAY_SHARE} AS may_share FROM outbox
                WHERE project_id = :project AND {_WAITS} AND NOT ({_IS_COMPARISON})
                  AND (NOT is_long OR id = ANY(ARRAY(
                    SELECT id FROM outbox WHERE project_id = :project AND {_WAITS} AND is_long
                    ORDER BY id LIMIT GREATEST(
                        0, :long - (SELECT count(*) FROM places WHERE is_long)))))
                ORDER BY id LIMIT GREATEST(0, :window - (SELECT count(*) FROM places)
                                              - (SELECT count(*) FROM comparisons))
                FOR UPDATE SKIP LOCKED),
            taken AS (SELECT id, false AS may_share FROM comparisons UNION ALL TABLE others)
            UPDATE outbox SET claimed_until = clock_timestamp() + interval '1 minute',
                claimed_at = COALESCE(outbox.claimed_at, clock_timestamp())
            FROM taken WHERE outbox.id = taken.id RETURNING outbox.id, body, may_share
            """,
            project=project_id,
            window=window,
            long=long_window(window),
        )
        taken = {message_id: json.loads(body) for message_id, body, _ in rows}
        may_share = sorted(message_id for message_id, _, may_share in rows if may_share)
        return sorted({**taken, **self._shared(project_id, may_share, window)}.items())

    def _shared(self, project_id: int, taken: Sequence[int], window: int) -> dict[int, MessageBody]:
        """Lets waiting messages go along with those that are taken; returns these."""
        if not taken:
            return {}
        waiting = self._small(
            f"""
            SELECT id, body FROM outbox WHERE project_id = :project AND {_WAITS} AND {_MAY_SHARE}
            ORDER BY id LIMIT {MOST_SHARED:d} FOR UPDATE SKIP LOCKED
            """,
            project=project_id,
        )
        if len(waiting) <= window:
            return {}  # each has its own, so that several workers share them
        of_taken = self._small(
            "SELECT id, body FROM outbox WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id",
            ids=list(taken),
        )
        messages = {message.id: message for message in of_taken}
        company = shared_messages(of_taken, waiting)
        bodies: dict[int, MessageBody] = {
            each: together(messages[each], others).to_json() for each, others in company.items()
        }
        # Without a key: no other message names just these. One that is sent again costs a look.
        self.tx.run(
            """
            UPDATE outbox SET body = row.body, key = NULL
            FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS row (id bigint, body jsonb)
            WHERE outbox.id = row.id
            """,
            rows=json.dumps([{"id": each, "body": body} for each, body in bodies.items()]),
        )
        self.tx.run(
            "DELETE FROM outbox WHERE id = ANY(CAST(:ids AS bigint[]))",
            ids=[other.id for others in company.values() for other in others],
        )
        return bodies

    def _small(self, which: str, **parameters: object) -> list[SmallMessage]:
        """Returns those messages that are for small strings, by age."""
        rows = self.tx.run(
            f"""
            WITH found AS MATERIALIZED ({which})
            SELECT found.id, nodes, chars FROM found CROSS JOIN LATERAL (
                SELECT array_agg(CAST(node AS bigint)) AS nodes FROM jsonb_array_elements_text(
                    COALESCE(body -> 'node_ids', jsonb_build_array(body -> 'node_id'))) AS node
            ) AS named CROSS JOIN LATERAL (
                SELECT sum(char_count) AS chars, max(char_count) AS longest FROM node
                WHERE node.id = ANY(nodes)) AS strings
            WHERE longest <= {SMALL_STRING:d} ORDER BY found.id
            """,
            **parameters,
        )
        return [SmallMessage(message_id, tuple(nodes), chars) for message_id, nodes, chars in rows]

    def note_sent(self, message_ids: Sequence[int]) -> None:
        """Notes that the queue took them."""
        self.tx.run(
            # What a program's own transaction has locked is left: it would wait for us in turn.
            # It is sent again when the claim ends.
            """
            UPDATE outbox SET sent_at = clock_timestamp(), claimed_until = NULL
            WHERE id = ANY(ARRAY(
                SELECT id FROM outbox WHERE id = ANY(CAST(:ids AS bigint[]))
                  AND claimed_until IS NOT NULL  -- not begun since
                ORDER BY id FOR UPDATE SKIP LOCKED))
            """,
            ids=list(message_ids),
        )

    def begin(self, message_id: int) -> int | None:
        """Notes that a worker has a message. An equal one that comes now is a new message.

        Waits for transactions that have added to it. Returns its project; None when it is done.
        """
        rows = self.tx.run(
            """
            UPDATE outbox SET begun_at = clock_timestamp(), due_at = NULL, claimed_until = NULL,
                sent_at = COALESCE(sent_at, clock_timestamp())
            WHERE id = :id RETURNING project_id
            """,
            id=message_id,
        )
        return rows[0][0] if rows else None

    def finish(self, message_id: int) -> None:
        """Deletes a message that is done."""
        self.tx.run("DELETE FROM outbox WHERE id = :id", id=message_id)

    def delay(self, message_id: int, *, after_s: float, window: int) -> bool:
        """Lets a begun message rest.

        True: its message rests in the queue. False: the message waits in the outbox, because an
        equal one is waiting or too many of the project rest.
        """
        # Delayed ones for the same have less to say than this one.
        self.tx.run(
            """
            DELETE FROM outbox WHERE id = ANY(ARRAY(
                SELECT other.id FROM outbox AS other JOIN outbox AS own ON own.key = other.key
                WHERE own.id = :id AND other.id <> own.id
                  AND other.begun_at IS NOT NULL AND other.due_at > statement_timestamp()
                FOR UPDATE OF other SKIP LOCKED))
            """,
            id=message_id,
        )
        self.tx.run(
            """
            DELETE FROM outbox WHERE id = :id AND EXISTS (
                SELECT FROM outbox AS open
                WHERE open.key = outbox.key AND open.begun_at IS NULL AND open.id <> outbox.id)
            """,
            id=message_id,
        )
        rows = self.tx.run(
            """
            UPDATE outbox SET due_at = clock_timestamp() + make_interval(secs => :after),
                claimed_at = NULL, claimed_until = NULL, sent_at = CASE WHEN (
                    SELECT count(*) FROM outbox AS other
                    WHERE other.project_id = outbox.project_id AND other.sent_at IS NOT NULL
                      AND other.due_at > statement_timestamp()) < :window THEN clock_timestamp() END
            WHERE id = :id RETURNING sent_at IS NOT NULL
            """,
            id=message_id,
            after=after_s,
            window=window,
        )
        return bool(rows and rows[0][0])

    def silent(self, *, silent_s: float) -> list[int]:
        """Returns messages that were last sent, begun or due ``silent_s`` ago."""
        rows = self.tx.run(
            """
            SELECT id FROM outbox
            WHERE sent_at IS NOT NULL AND GREATEST(sent_at, begun_at, due_at)
                  < statement_timestamp() - make_interval(secs => :silent)
            ORDER BY id
            """,
            silent=silent_s,
        )
        return [message_id for [message_id] in rows]

    def reopen(self, message_ids: Sequence[int], *, silent_s: float) -> int:
        """Puts messages that are still silent back to waiting and returns how many.

        One that was lost before rests first: ``silent_s``, doubled each time, at most a day.
        """
        return len(
            self.tx.run(
                """
                UPDATE outbox SET sent_at = NULL, claimed_at = NULL, times_lost = times_lost + 1,
                    due_at = clock_timestamp() + make_interval(secs =>
                        CASE WHEN begun_at IS NULL OR times_lost = 0 THEN 0 ELSE LEAST(
                            CAST(:longest AS float8),  -- core/messages.py, pause_s
                            CAST(:silent AS float8) * 2 ^ LEAST(times_lost - 1, 20)) END)
                WHERE id IN (
                    SELECT id FROM outbox
                    WHERE id = ANY(CAST(:ids AS bigint[]))
                      AND sent_at IS NOT NULL AND GREATEST(sent_at, begun_at, due_at)
                          < statement_timestamp() - make_interval(secs => :silent)
                    ORDER BY id FOR UPDATE SKIP LOCKED)
                RETURNING 1
                """,
                ids=list(message_ids),
                silent=silent_s,
                longest=LONGEST_PAUSE_S,
            )
        )

    def restore(self, message_ids: Sequence[int]) -> list[int]:
        """Puts these messages back to waiting, unless they are done, and returns their projects.

        How often they were lost is forgotten.
        """
        rows = self.tx.run(
            """
            UPDATE outbox SET sent_at = NULL, claimed_at = NULL, due_at = clock_timestamp(),
                times_lost = 0
            WHERE id = ANY(ARRAY(
                SELECT id FROM outbox WHERE id = ANY(CAST(:ids AS bigint[]))
                ORDER BY id FOR UPDATE SKIP LOCKED))
            RETURNING project_id
            """,
            ids=list(message_ids),
        )
        return sorted({project_id for [project_id] in rows})

    def waiting(self, *, limit: int) -> list[int]:
        """Returns projects with messages that wait to be sent, in no order.

        At random, so that nobody is beyond the limit for ever.
        """
        rows = self.tx.run(
            f"""
            SELECT project_id FROM outbox WHERE {_WAITS}
            GROUP BY project_id ORDER BY random() LIMIT :limit
            """,
            limit=limit,
        )
        return [project_id for [project_id] in rows]

    def has_neighbours(self, table_id: int) -> bool:
        """Tells whether messages of other projects than a table's wait for a worker."""
        [[found]] = self.tx.run(
            f"""
            SELECT EXISTS (
                SELECT FROM outbox WHERE begun_at IS NULL AND {IS_DUE} AND project_id NOT IN (
                    0, COALESCE((SELECT project_id FROM context_table
                                 WHERE id = :table AND {TABLE_OF_CALLER}), 0)))
            """,
            table=table_id,
        )
        return bool(found)
