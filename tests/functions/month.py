"""A month in small: strings are indexed, edited, asked about and swept, and bills are added up."""

from __future__ import annotations

import contextlib
import io
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from context_search.composition.parts import parts
from context_search.integrations.models.tiktoken_counter import TiktokenCounter
from scripts.cost.load import Load
from testing.in_memory.embedder import WordEmbedder
from tests.cost.texts import QUESTIONS, corpus, edited
from tests.functions.deployment import Deployment
from tests.integrations.openai_server import OpenAiServer
from tests.integrations.scripted_embeddings import item

CONFIG = {"chunk_threshold": 10_000, "chunk_size": 1_000, "chunk_overlap": 100}


class Embeddings(OpenAiServer):
    """OpenAI's route: vectors of the length that is asked for, and tokens as its models count."""

    def __init__(self) -> None:
        super().__init__()
        self._counter = TiktokenCounter()

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        embedder = WordEmbedder(body["dimensions"])
        vectors = embedder.embed_passages(body["input"], timeout_s=1)
        data = [item(index, vector) for index, vector in enumerate(vectors)]
        tokens = sum(map(self._counter.count, body["input"]))
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "data": data, "model": body["model"], "usage": usage}


@dataclass(frozen=True)
class Month:
    """Lives through a load's month with deployed functions; what it counts is in ``counted``."""

    deployed: Deployment
    load: Load

    @cached_property
    def tool(self) -> dict[str, Any]:
        """The Search Tool over all strings, made with the first load."""
        return self.deployed.tool(self._document, **CONFIG)

    @cached_property
    def _document(self) -> dict[str, str]:
        text, size = corpus(self.load.language), int(self.load.characters)
        count = int(self.load.strings)
        assert count * size <= len(text), "the same text twice would not be embedded twice"
        return {f"{number}": text[number * size :][:size] for number in range(count)}

    def first_load(self) -> Counter[str]:
        """Indexes everything."""
        with counting() as counted:
            assert self.tool
            counted["orders"] += self._drain()
        counted["rows"] = len(self.deployed.documents(self.tool["namespace"]))
        return counted

    def rest(self) -> Counter[str]:
        """Edits and asks, and cleans up after each edit and at the end, with the grace over."""
        edits, questions = round(self.load.edits), round(self.load.questions)
        with counting() as counted:
            for number in range(edits):
                counted["orders"] += self._edit(number)
                for question in range(number, questions, edits):
                    self._ask(question)
                self._clean_up()
            for _ in range(round(self.load.cleanups) - edits):
                self._clean_up()
        counted["rows"] = len(self.deployed.documents(self.tool["namespace"]))
        return counted

    def _edit(self, number: int) -> int:
        name = f"{number % int(self.load.strings)}"
        text = self._document[name]
        share = (number + 0.5) / round(self.load.edits)  # all over the strings, one after the other
        self._document[name] = edited(text, self.load.language, int(share * len(text)), number)
        path = f"/api/v1/tables/{self.tool['table_id']}/data"
        answer = self.deployed.http("PUT", path, self._document, key=self.tool["key"])
        assert answer["statusCode"] == 200, answer
        return self._drain()

    def _ask(self, number: int) -> None:
        path = f"/api/v1/tools/{self.tool['tool_id']}/search"
        body = {"query": QUESTIONS[self.load.language].format(number)}
        answer = self.deployed.http("POST", path, body, key=self.tool["key"], function="search")
        assert answer["json"]["retrieval"]["degraded"] == [], answer["json"]["retrieval"]

    def _clean_up(self) -> None:
        """A run after what it waits for: the sweep is due, the grace of deletes is over."""
        hour = "interval '1 h'"
        self.deployed.sql(f"UPDATE index_generation SET swept_at = swept_at - {hour} RETURNING 1")
        self.deployed.sql(
            f"UPDATE tombstone SET created_at = created_at - {hour} WHERE deleted_at IS NOT NULL"
            " RETURNING 1"
        )
        self.deployed.clean_up()

    def _drain(self) -> int:
        """Does all the work that waits, and returns the number of messages."""
        done, queue_url = 0, self.deployed.environment["QUEUE_URL"]
        while messages := self.deployed.receive():
            for message in messages:
                assert self.deployed.index([message]) == set()
                self.deployed.sqs.delete_message(
                    QueueUrl=queue_url, ReceiptHandle=message["ReceiptHandle"]
                )
                done += 1
        return done


@contextlib.contextmanager
def counting() -> Iterator[Counter[str]]:
    """Adds up the counters of bills that functions print meanwhile, and the bytes of all lines."""
    counted: Counter[str] = Counter()
    parts().meter.take()
    with contextlib.redirect_stdout(io.StringIO()) as out:
        yield counted
    for line in out.getvalue().splitlines():
        printed = json.loads(line)
        function = printed.get("billed_by") or printed["service"]
        counted[f"{function} log"] += len(line.encode())
        if printed["service"] == "billed":
            for name in printed.keys() - {"_aws", "service", "billed_by"}:
                counted[name] += int(printed[name][0])
        counted["pages"] += bool(printed.get("documents_checked_total"))
