"""Vectors of a slow model, kept in a file of the user's, so that a second run takes minutes."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from context_search.integrations.ports import Embedder
from evaluation.jsonl import UnreadableError

WAIT_S = 60.0
AT_ONCE = 16
"""How many texts are embedded before they are written: what a stopped run loses at most."""
Kind = Literal["passage", "query"]
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)"


@dataclass(frozen=True, slots=True)
class SameModel:
    """What the port ``Embedder`` says of a model whose vectors are made by ``whole``."""

    whole: Embedder

    @property
    def model(self) -> str:
        return self.whole.model

    @property
    def passage_key(self) -> str:
        return self.whole.passage_key

    @property
    def query_key(self) -> str:
        return self.whole.query_key

    def warm_up(self) -> None:
        self.whole.warm_up()


@dataclass(frozen=True, slots=True)
class KeptVectors(SameModel):
    """The port ``Embedder``: asks ``whole`` once for each text, and the file from then on.

    SQLite; several programs may fill one file. A key is the SHA-256 of model, kind and text, a
    vector is float32. Raises UnreadableError for a file that is something else.
    """

    path: Path

    def __post_init__(self) -> None:
        try:
            with self._open() as file:
                file.execute(_TABLE)
        except sqlite3.Error as error:
            raise UnreadableError(f"{self.path}: {error}") from error

    @property
    def dimensions(self) -> int:
        return self.whole.dimensions

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        keys = [self._key("passage", text) for text in texts]
        known = self._read(keys)
        missing = [(key, text) for key, text in zip(keys, texts, strict=True) if key not in known]
        for first in range(0, len(missing), AT_ONCE):
            some = missing[first : first + AT_ONCE]
            vectors = self.whole.embed_passages([text for _, text in some], timeout_s=timeout_s)
            new = {key: vector for (key, _), vector in zip(some, vectors, strict=True)}
            self._write(new)
            known |= new
        return [known[key] for key in keys]

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:
        key = self._key("query", text)
        known = self._read([key]).get(key)
        if known is None:
            known = self.whole.embed_query(text, timeout_s=timeout_s)
            self._write({key: known})
        return known

    def embed_queries(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        return [self.embed_query(text, timeout_s=timeout_s) for text in texts]

    def _key(self, kind: Kind, text: str) -> bytes:
        return hashlib.sha256(f"{self.model}\n{kind}\n{text}".encode()).digest()

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=WAIT_S)) as file, file:
            yield file

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, list[float]]:
        found: dict[bytes, list[float]] = {}
        with self._open() as file:
            for key in keys:
                for (vector,) in file.execute("SELECT vector FROM vectors WHERE key = ?", (key,)):
                    found[key] = np.frombuffer(vector, np.float32).tolist()
        return found

    def _write(self, vectors: dict[bytes, list[float]]) -> None:
        rows = [(key, np.array(vector, np.float32).tobytes()) for key, vector in vectors.items()]
        with self._open() as file:
            file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
