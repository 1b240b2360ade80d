"""What is outside of the database: clock, queue, model, turbopuffer, S3, tokens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from context_search.core.config import IndexConfig


class Clock(Protocol):
    """Time that moves forward; a test moves it by hand."""

    def now(self) -> datetime:
        """Returns the current time, with a time zone."""
        ...

    def monotonic(self) -> float:
        """Returns seconds from an arbitrary start."""
        ...


class SystemClock:
    """The machine's ``Clock``, in UTC."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


@dataclass(frozen=True, slots=True)
class Deadline:
    """How long this invocation may still work, in seconds of a monotonic clock."""

    clock: Clock
    ends_at: float
    reserve_s: float = 0.0

    def left_s(self) -> float:
        """Returns the seconds that are left, never below zero."""
        return max(0.0, self.ends_at - self.reserve_s - self.clock.monotonic())


@dataclass(frozen=True, slots=True)
class Billed:
    """What others charge for a call: logical bytes as turbopuffer counts them, and tokens as the
    provider does.

    0 where a reply says nothing of it: some providers do not tell. ``reranks`` are answered
    requests to a reranking model: some of their providers count those, the others tokens.
    """

    written_bytes: int = 0
    queried_bytes: int = 0
    returned_bytes: int = 0
    tokens: int = 0
    reranks: int = 0
    rerank_tokens: int = 0

    def __add__(self, other: Billed) -> Billed:
        """Returns the sum of both, figure by figure."""
        return Billed(
            *(getattr(self, each.name) + getattr(other, each.name) for each in fields(self))
        )


OnBilled = Callable[[Billed], None]


class TokenCounter(Protocol):
    """A tokenizer that only counts."""

    @property
    def name(self) -> str:
        """The name under which its vocabulary is known."""
        ...

    def count(self, text: str) -> int:
        """Returns the tokens of ``text``; special tokens in it count as the text that they are."""
        ...


class AccessTokens(Protocol):
    """The tokens of one issuer for audiences of ours."""

    def claims_of(self, token: str) -> Mapping[str, object]:
        """Returns the claims of a token that is genuine, for us, and has not expired.

        Raises UnauthenticatedError for any other, and TokenIssuerUnavailableError when the
        issuer's keys cannot be had at the moment.
        """
        ...


MessageBody = Mapping[str, object]


class DeadLetters(Protocol):
    """Messages that were received too often."""

    def take_up(self, limit: int, keep: Callable[[Sequence[MessageBody]], None]) -> int:
        """Hands up to ``limit`` of them to ``keep``, then deletes them, and returns how many.

        A message may be handed over twice, it is never lost. Raises QueueUnavailableError, and
        what ``keep`` raises.
        """
        ...


class Queue(Protocol):
    """SQS. At least once, in any order."""

    def send(self, messages: Sequence[MessageBody]) -> list[int]:
        """Sends messages and returns the positions of those that were taken."""
        ...

    def is_empty(self) -> bool:
        """Tells whether there is no message at all: waiting, delayed, or at a worker.

        Counted about a minute ago. Raises QueueUnavailableError.
        """
        ...


class Embedder(Protocol):
    """Text to vectors. Raises only members of the EmbeddingError family."""

    @property
    def model(self) -> str:
        """The litellm name of the model."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        ...

    @property
    def passage_key(self) -> str:
        """Stands for all else that makes the vectors of passages; empty where nothing does.

        Equal for equal parameters. It does not tell them.
        """
        ...

    @property
    def query_key(self) -> str:
        """Stands for the same of questions."""
        ...

    def warm_up(self) -> None:
        """Does what the first call would do beside its work: an import of seconds."""
        ...

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        """Returns one vector per text, same order, each of ``dimensions`` finite numbers."""
        ...

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:
        """Returns the vector of a question, comparable with those of passages."""
        ...

    def embed_queries(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        """Returns the vectors of several questions, in the same order."""
        ...


class Reranker(Protocol):
    """A model that reads a question and a text together. Raises only the RerankError family."""

    @property
    def model(self) -> str:
        """The litellm name of the model."""
        ...

    def warm_up(self) -> None:
        """Does what the first call would do beside its work: an import of seconds."""
        ...

    def scores(self, question: str, texts: Sequence[str], *, timeout_s: float) -> dict[int, float]:
        """Returns finite scores by the place of a text, in any range; higher is better.

        The model may leave texts out.
        """
        ...


@dataclass(frozen=True, slots=True)
class SignedPut:
    """A request that stores an object: the only thing that its bearer may do with the bucket."""

    url: str
    headers: Mapping[str, str]
    method: str = "PUT"


class Objects(Protocol):
    """S3. Raises ObjectsUnavailableError when it does not answer."""

    def sign_put(self, key: str, *, content_type: str, size: int, expires_s: int) -> SignedPut:
        """Returns a request that stores an object of exactly ``size`` bytes."""
        ...

    def size(self, key: str) -> int | None:
        """Returns the length of an object in bytes, None without one."""
        ...

    def read(self, key: str) -> Iterator[bytes]:
        """Yields an object piece by piece. Raises UploadMissingError without one."""
        ...

    def delete(self, key: str) -> None:
        """Deletes an object, or nothing when there is none."""
        ...


@dataclass(frozen=True, slots=True)
class VectorRow:
    """One row of turbopuffer: a window of a chunk, with its vector.

    It holds nothing that an edit elsewhere in the string would change, so it stays as it is for
    as long as its chunk does. ``updated_at`` is when it was written.
    ``tokens`` is the keyword field (None: not stored, as in lean storage and on later windows).
    """

    id: str
    vector: Sequence[float]
    tokens: Sequence[str] | None
    ancestors: Sequence[str]
    table_id: int
    chunk_id: int
    json_pointer: str
    updated_at: datetime


MAX_QUERY_ROWS = 10_000
"""Maximum number of rows of one turbopuffer query."""
MAX_QUERY_BYTES = 8_192
"""Maximum size of all tokens of one turbopuffer query together, in UTF-8. The service says 8,192
and not of what; bytes are the least that this can mean.
"""


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """What to rank in one namespace; a leg is skipped when its operand is None.

    ``tokens`` are those of the keyword leg with what each counts, above 0 and at most 1; all of
    them together have at most MAX_QUERY_BYTES, or the query is refused.
    ``scope_key`` keeps only rows below one pointer, ``table_ids`` those of some tables, ``keys``
    those of strings whose pointers have one of these keys.
    ``limit`` is how many chunks each leg gives, ``windows`` how many vectors a chunk may have.
    """

    scope_key: str
    vector: Sequence[float] | None
    tokens: Mapping[str, float] | None
    limit: int
    table_ids: tuple[int, ...] | None = None
    keys: tuple[str, ...] | None = None
    windows: int = 1

    @property
    def vector_rows(self) -> int:
        """Returns how many rows of the vector leg hold ``limit`` chunks; turbopuffer's most."""
        return max(self.limit, min(self.limit * self.windows, MAX_QUERY_ROWS))


class Ranked(NamedTuple):
    """One row of a leg: ``score`` is cosine similarity or BM25, higher is better."""

    doc_id: str
    score: float


@dataclass(frozen=True, slots=True)
class Legs:
    """The ranked lists of one query, best first, a chunk once; None where the leg did not run.

    ``is_cut``: a leg had as many rows or chunks as it may give, there may be more.
    """

    vector: list[Ranked] | None = None
    keyword: list[Ranked] | None = None
    is_cut: bool = False


class VectorStore(Protocol):
    """turbopuffer. A call that returns was acknowledged; anything unclear raises.

    Raises VectorStoreUnavailableError when there was no definite answer,
    VectorStoreRejectedError for a definite 4xx, NamespaceMissingError for a missing namespace.
    """

    def ping(self, *, timeout_s: float) -> None:
        """Asks for nothing but an answer; it costs no query."""
        ...

    def upsert(self, namespace: str, rows: Sequence[VectorRow], *, config: IndexConfig) -> None:
        """Writes whole rows; repeating the same call changes nothing."""
        ...

    def delete(self, namespace: str, ids: Sequence[str]) -> None:
        """Deletes rows; ids that are not there, and a missing namespace, are no error."""
        ...

    def query(self, namespace: str, query: VectorQuery, *, timeout_s: float) -> Legs:
        """Returns both legs of one snapshot of the namespace."""
        ...

    def vectors(self, namespace: str, ids: Sequence[str]) -> dict[str, Sequence[float]]:
        """Returns the vectors of those rows that exist."""
        ...

    def existing(self, namespace: str, ids: Sequence[str]) -> set[str]:
        """Returns those of ``ids`` that are rows of the namespace."""
        ...

    def ids_after(self, namespace: str, after: str, limit: int) -> list[str]:
        """Returns up to ``limit`` ids of rows greater than ``after``, ascending."""
        ...

    def namespaces_after(self, prefix: str, after: str, limit: int) -> list[str]:
        """Returns up to ``limit`` namespaces that begin with ``prefix`` and are greater than
        ``after``, ascending. Those of other programs in the account count, too.
        """
        ...

    def delete_namespace(self, namespace: str) -> None:
        """Deletes a namespace; a missing one is no error."""
        ...
