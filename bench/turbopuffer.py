"""Speed of the local turbopuffer server, measured through the real SDK.

``python -m bench.turbopuffer [documents]`` (default 50,000) builds random documents with
512-dimensional vectors and 30 tokens each, and prints ingest and query figures.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from turbopuffer import Turbopuffer
from turbopuffer.lib.namespace import Namespace

DIMENSIONS = 512
TOKENS = 30
VOCABULARY = 60_000
ANCESTORS = 50
BATCH = 1_000
QUERIES = 100
Query = dict[str, Any]
PAGE: Query = {"limit": 50, "include_attributes": ["table_id"]}
SCHEMA: dict[str, Any] = {
    "content": {"type": "[]string", "full_text_search": {"tokenizer": "pre_tokenized_array"}},
    "ancestors": {"type": "[]string"},
    "table_id": {"type": "int"},
    "vector": {"type": f"[{DIMENSIONS}]f32", "ann": True},
}


def main() -> None:
    """Start a server on a temporary directory, fill it, query it, print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.turbopuffer", description=__doc__)
    parser.add_argument("documents", nargs="?", type=int, default=50_000)
    documents = parser.parse_args().documents
    random = np.random.default_rng(7)
    print(f"{documents} documents on {platform.machine()}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as directory:
        with _server(directory) as (url, pid):
            namespace = _client(url).namespace("bench")
            _ingest(namespace, documents, random)
            _measure(namespace, random)
            print(f"memory at most: {_peak_mb(pid):,.0f} MB")
        with _server(directory) as (url, _):
            start = time.perf_counter()
            _client(url).namespace("bench").query(rank_by=("id", "asc"), limit=1)
            print(f"load after restart: {time.perf_counter() - start:.1f} s")


@contextmanager
def _server(directory: str) -> Iterator[tuple[str, int]]:
    command = [sys.executable, "-m", "local.turbopuffer", "--data", directory]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        assert server.stdout is not None  # noqa: S101
        yield server.stdout.readline().split()[-1], server.pid
        server.terminate()


def _peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(
        int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")
    )


def _client(url: str) -> Turbopuffer:
    # With a placeholder: the SDK refuses any other base URL where TURBOPUFFER_REGION is set.
    place = url.removeprefix("http://")
    return Turbopuffer(api_key="bench", base_url="http://{region}", region=place)


def _ingest(namespace: Namespace, documents: int, random: np.random.Generator) -> None:
    spent = 0.0
    for first in range(0, documents, BATCH):
        rows = _rows(first, min(BATCH, documents - first), random)
        start = time.perf_counter()
        namespace.write(upsert_rows=rows, schema=SCHEMA, distance_metric="cosine_distance")
        spent += time.perf_counter() - start
    print(f"ingest: {documents / spent:,.0f} documents/s in batches of {BATCH}")


def _rows(first: int, count: int, random: np.random.Generator) -> list[Any]:
    vectors = random.standard_normal((count, DIMENSIONS)).tolist()
    return [
        {
            "id": f"document-{first + i}",
            "vector": vectors[i],
            "content": _tokens(TOKENS, random),
            "ancestors": ["root", f"branch-{(first + i) % ANCESTORS}"],
            "table_id": (first + i) % 7,
        }
        for i in range(count)
    ]


def _tokens(count: int, random: np.random.Generator) -> list[str]:
    return [f"w{rank}" for rank in np.minimum(random.zipf(1.2, count), VOCABULARY)]


def _measure(namespace: Namespace, random: np.random.Generator) -> None:
    contains = {"filters": ("ancestors", "Contains", "branch-7")}
    for label, more in (("", {}), (f" + Contains (1 in {ANCESTORS})", contains)):
        ann, bm25 = partial(_ann, random, more), partial(_bm25, random, more)
        _time(f"ANN{label}", lambda query: namespace.query(**query), ann)
        _time(f"BM25{label}", lambda query: namespace.query(**query), bm25)
        both = partial(lambda one, other: {"queries": [one(), other()]}, ann, bm25)
        _time(f"hybrid{label}", lambda query: namespace.multi_query(**query), both)


def _ann(random: np.random.Generator, more: Query) -> Query:
    vector = random.standard_normal(DIMENSIONS).tolist()
    return {"rank_by": ("vector", "ANN", vector), **PAGE, **more}


def _bm25(random: np.random.Generator, more: Query) -> Query:
    return {"rank_by": ("content", "BM25", _tokens(4, random)), **PAGE, **more}


def _time(label: str, ask: Callable[[Query], object], make: Callable[[], Query]) -> None:
    spent = []
    for _ in range(QUERIES):
        query = make()
        start = time.perf_counter()
        ask(query)
        spent.append(1000 * (time.perf_counter() - start))
    p50, p95, p99 = np.percentile(spent, [50, 95, 99])
    print(f"{label:28} p50 {p50:6.1f}  p95 {p95:6.1f}  p99 {p99:6.1f} ms")


if __name__ == "__main__":
    main()
