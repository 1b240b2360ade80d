"""Routes of providers of reranking models, on a real socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from testing.in_memory.reranker import WordReranker
from tests.integrations.json_server import JsonHandler, serving

Results = list[dict[str, Any]]


def by_words(body: dict[str, Any]) -> Results:
    """A healthy provider: best first."""
    scores = WordReranker().scores(body["query"], body["documents"], timeout_s=1)
    results = [{"index": i, "relevance_score": score} for i, score in scores.items()]
    return sorted(results, key=lambda result: -float(result["relevance_score"]))


class RerankServer:
    """An HTTP server that answers a question with ``results``, or with ``raw`` if there is one.

    With ``accepted`` every other key gets the status 401. Without ``answering`` nobody gets
    anything. A refusal quotes the question, as providers do.
    """

    def __init__(self) -> None:
        self.results: Callable[[dict[str, Any]], Any] = by_words
        self.raw: bytes | None = None
        self.accepted: str | None = None
        self.status, self.headers = 200, dict[str, str]()
        self.requests: list[tuple[dict[str, Any], str]] = []
        self.paths: list[str] = []
        self.answering = threading.Event()
        self.answering.set()

    def reply(self, body: dict[str, Any], status: int) -> bytes:
        if status != 200:
            return json.dumps({"message": f"no: {body['query']}: {body['documents']}"}).encode()
        if self.raw is not None:
            return self.raw
        results = self.results(body)  # "data" is Voyage's word for them
        tokens = len(body["query"]) + sum(map(len, body["documents"]))  # a character is one
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        meta = {"billed_units": {"search_units": 1}}
        reported = {"id": "1", "results": results, "data": results, "usage": usage, "meta": meta}
        return json.dumps(reported).encode()

    @contextmanager
    def running(self) -> Iterator[str]:
        outer = self

        class Handler(JsonHandler):
            def answer(self, body: bytes) -> None:
                asked = json.loads(body)
                key = self.headers["authorization"]
                outer.requests.append((asked, key))
                outer.paths.append(self.path)
                outer.answering.wait()
                known = outer.accepted in (None, key.split()[-1])
                status = outer.status if known else 401
                with suppress(ConnectionError):  # a client past its deadline has hung up
                    self.give(status, outer.reply(asked, status), outer.headers)

        with serving(Handler) as url:
            try:
                yield url
            finally:
                self.answering.set()


def opinions(*pairs: tuple[Any, Any]) -> Callable[[dict[str, Any]], Results]:
    """What a server's ``results`` may be: these indexes and scores, whatever is asked."""
    return lambda _: [{"index": index, "relevance_score": score} for index, score in pairs]


NO_SCORES: dict[str, Any] = {
    "an index out of range": opinions((0, 0.5), (2, 0.9)),
    "an index below zero": opinions((-1, 0.5), (0, 0.9)),
    "an index twice": opinions((0, 0.5), (0, 0.9)),
    "an index that is null": opinions((None, 0.5), (1, 0.9)),
    "an index that is text": opinions(("first", 0.5), (1, 0.9)),
    "a score that is null": opinions((0, None), (1, 0.9)),
    "a score that is text": opinions((0, "much"), (1, 0.9)),
    "NaN": opinions((0, float("nan")), (1, 0.9)),
    "infinity": opinions((0, float("inf")), (1, 0.9)),
    "a score beyond all scores": opinions((0, -1e308), (1, 1e308)),
    "more scores than texts": lambda _: opinions(*((i, 0.5) for i in range(50_000)))({}),
    "no scores": opinions(),
    "null": lambda _: None,
    "a number": lambda _: 7,
    "texts": lambda _: ["a", "b"],
    "results without scores": lambda _: [{"index": 0}, {"index": 1}],
    "HTML": b"<html>Bad gateway</html>",
    "half of it": b'{"id": "1", "results": [{"index": 0, "rel',
    "a list": b"[]",
    "nothing": b"",
    "a megabyte of brackets": b"[" * 1_000_000,
}
"""Answers with the status 200, to a question about two texts, that are no opinions."""


def set_answer(server: RerankServer, answer: Any) -> None:
    """Makes a server give one of ``NO_SCORES``."""
    if isinstance(answer, bytes):
        server.raw = answer
    else:
        server.results = answer
