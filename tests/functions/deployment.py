"""Calls of the deployed functions: their recorded events with other contents."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import boto3

from context_search.composition.parts import parts
from context_search.core.messages import Message
from context_search.integrations.models.litellm_embedder import import_litellm
from context_search.integrations.secrets import with_values
from local.invocation import LambdaFunction
from local.options import ROOT
from local.poller import sqs_event
from local.template import read_template
from local.variables import Variables
from testing.in_memory.embedder import WordEmbedder
from tests.builders import message_of

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

CANARY = "canary-91b7"
QUEUE_ARN = "arn:aws:sqs:us-east-1:123456789012:queue"
SECRET = f"{CANARY}-internal-of-32-characters"
DIMENSIONS = 64
PAGE = 10_000
FOR_ALL = {"turbopuffer_api_key": f"{CANARY}-turbopuffer"}
FOR_MODELS = {"embedding_api_key": f"{CANARY}-model"}
FOR_CALLERS = {
    "internal_secret": SECRET,
    "internal_secret_previous": None,
    "query_hash_key": f"{CANARY}-hash-of-32-characters-or-more",
}
SECRET_VALUES = FOR_ALL | FOR_MODELS | FOR_CALLERS
VISIBILITY_S = 720  # the template's
SMALL = {"chunk_threshold": 20, "chunk_size": 100, "chunk_overlap": 10}
failures: list[Exception] = []
"""What the model raises at its next calls, one each."""


class Words:
    """litellm's handler for ``words/…``."""

    def embedding(self, *, input: list[str], model_response: Any, **_: Any) -> Any:  # noqa: A002
        """Vectors from words, a token a character, unless a failure is due."""
        if failures:
            raise failures.pop(0)
        tokens = sum(map(len, input))
        model_response.usage = import_litellm().Usage(prompt_tokens=tokens, total_tokens=tokens)
        vectors = WordEmbedder(DIMENSIONS).embed_passages(input, timeout_s=1)
        model_response.data = [
            {"index": index, "embedding": vector} for index, vector in enumerate(vectors)
        ]
        return model_response


def register_words() -> None:
    """Makes ``words/model`` an embedding model of this process, whatever was registered before."""
    failures.clear()
    litellm = import_litellm()
    litellm.custom_provider_map = [{"provider": "words", "custom_handler": Words()}]


class _Lines(logging.Handler):
    """Writes records as Lambda would, into a list."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.INFO)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        """Formats a record as its function does: in JSON, with all its fields."""
        logger = logging.getLogger(record.name)
        while not logger.handlers and logger.parent:
            logger = logger.parent
        own = logger.handlers[0]
        form = own.formatter if logger.parent else None
        self._lines.append((form or logging.Formatter()).format(record))


@contextmanager
def listening(lines: list[str]) -> Iterator[None]:
    """Everything that is logged meanwhile, as lines."""
    handler = _Lines(lines)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


def event(name: str) -> dict[str, Any]:
    """One of the recorded events."""
    loaded: dict[str, Any] = json.loads((ROOT / "events" / f"{name}.json").read_text())
    return loaded


def load_functions() -> dict[str, LambdaFunction]:
    """The functions that the template names, as new processes have them."""
    template = read_template(ROOT / "template.yaml")
    return {spec.code.name: LambdaFunction.load(spec) for spec in template.functions}


def end_process() -> None:
    """Closes what the functions have opened, and leaves the next one to begin anew."""
    made = vars(parts())
    for name in made.keys() & {"postgres", "patient_postgres"}:
        made[name].database.close()
    for name in made.keys() & {"queue", "objects"}:
        made[name].client.close()
    parts.cache_clear()


@dataclass
class Deployment:
    """Functions by the name of their folder, and the queues between them."""

    environment: dict[str, str]
    functions: dict[str, Any]  # whatever has the method ``invoke`` of LambdaFunction
    sqs: SQSClient

    @classmethod
    def of(
        cls, aws: dict[str, str], url: str, turbopuffer_url: str, **parameters: str
    ) -> Deployment:
        """Makes queues, and loads the functions that the template names, in its environment.

        ``parameters`` are the template's.
        """
        sqs = boto3.client(
            "sqs",
            endpoint_url=aws["AWS_ENDPOINT_URL"],
            region_name=aws["AWS_DEFAULT_REGION"],
            aws_access_key_id=aws["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=aws["AWS_SECRET_ACCESS_KEY"],
        )
        name = uuid4().hex
        queues = [sqs.create_queue(QueueName=f"{kind}{name}")["QueueUrl"] for kind in "qd"]
        places = {"Queue": queues[0], "DeadLetterQueue": queues[1], "UploadBucket": "uploads"}
        choices = {"EmbeddingModel": "words/model", "EmbeddingDimensions": str(DIMENSIONS)}
        choices |= {"TurbopufferBaseUrl": turbopuffer_url, "SecretsArn": "", **parameters}
        deployed = Variables.read(ROOT / "template.yaml").shared({**places, **choices})
        environment = {**aws, **with_values(deployed, {**SECRET_VALUES, "database_url": url})}
        return cls(environment, load_functions(), sqs)

    def restart(self) -> None:
        """Has the functions begin anew: they read their environment again."""
        end_process()
        self.functions = load_functions()

    def http(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        key: str = "",
        headers: dict[str, str] | None = None,
        function: str = "create_tool",
        **more: Any,
    ) -> dict[str, Any]:
        """API Gateway's call of a function; the answer's body is read as JSON."""
        request = event("create_tool")
        request |= {"routeKey": f"{method} {path}", "rawPath": path, **more}
        request["requestContext"]["http"] |= {"method": method, "path": path}
        request["headers"] |= {"authorization": f"Bearer {key}", **(headers or {})}
        request.pop("body")
        if body is not None:
            request["body"] = json.dumps(body)
        answer: dict[str, Any] = self.functions[function].invoke(request)
        return {**answer, "json": json.loads(answer["body"]) if answer.get("body") else None}

    def project(self) -> tuple[int, str]:
        """A new project and its key."""
        headers = {"x-internal-secret": SECRET}
        made = self.http("POST", "/api/v1/projects", {"name": "test"}, headers=headers)["json"]
        return made["id"], made["api_key"]

    def tool(self, document: object, **config: object) -> dict[str, Any]:
        """A Search Tool of a new project over a document, not indexed; with the ``key`` to it."""
        project_id, key = self.project()
        body = {"project_id": project_id, "name": "table", "data": document}
        table = self.http("POST", "/api/v1/tables", body, key=key)["json"]
        body = {
            "project_id": project_id,
            "table_id": table["id"],
            "name": "search",
            "search_config": {**SMALL, **config},
        }
        made = self.http("POST", "/api/v1/tools/search", body, key=key)
        assert made["statusCode"] == 201, made
        return {**made["json"], "key": key, "table_id": table["id"], "project_id": project_id}

    def search(
        self, tool: dict[str, Any], query: str = "harbour winter ledger", top_k: int = 3
    ) -> dict[str, Any]:
        """The answer of a search with a tool."""
        path, body = f"/api/v1/tools/{tool['tool_id']}/search", {"query": query, "top_k": top_k}
        answer = self.http("POST", path, body, key=tool["key"], function="search")
        assert answer["statusCode"] == 200, answer
        return dict(answer["json"])

    def search_index(self, tool: dict[str, Any]) -> dict[str, Any]:
        """What is told of a tool's index."""
        path = f"/api/v1/tools/{tool['tool_id']}/search-index"
        return dict(self.http("GET", path, key=tool["key"])["json"])

    def clean_up(self) -> dict[str, Any]:
        """The report of a scheduled run without errors."""
        report = dict(self.functions["cleanup"].invoke(event("cleanup")))
        assert report["errors"] == []
        return report

    def receive(self, limit: int = 10) -> list[MessageTypeDef]:
        """Messages that are visible, as the event source mapping takes them."""
        reply = self.sqs.receive_message(
            QueueUrl=self.environment["QUEUE_URL"],
            MaxNumberOfMessages=limit,
            VisibilityTimeout=VISIBILITY_S,
            MessageSystemAttributeNames=["All"],
        )
        return reply.get("Messages", [])

    def index(self, messages: list[MessageTypeDef]) -> set[str]:
        """Gives messages to ``index_node``; returns the ids of those that it could not do."""
        batch = sqs_event(messages, QUEUE_ARN)
        report = self.functions["index_node"].invoke(batch)
        assert report.keys() == {"batchItemFailures"}
        return {failure["itemIdentifier"] for failure in report["batchItemFailures"]}

    def drain(self) -> None:
        """Does all the work that waits in the queue."""
        while messages := self.receive():
            assert self.index(messages) == set()
            for message in messages:
                self.sqs.delete_message(
                    QueueUrl=self.environment["QUEUE_URL"], ReceiptHandle=message["ReceiptHandle"]
                )

    def send(self, *bodies: str) -> list[MessageTypeDef]:
        """Puts messages into an empty queue and takes them out again."""
        for body in bodies:
            self.sqs.send_message(QueueUrl=self.environment["QUEUE_URL"], MessageBody=body)
        return self.receive()

    def order(self, *messages: Message) -> list[MessageTypeDef]:
        """Sends messages, which the outbox has."""
        return self.send(*(json.dumps(message_of(each, self.sql)) for each in messages))

    def sql(self, statement: str, **values: object) -> list[list[Any]]:
        """Rows of a statement in the functions' database."""
        with parts().postgres.database.transaction() as tx:
            return tx.run(statement, **values)

    def documents(self, namespace: str) -> list[str]:
        """Ids of all documents of a namespace."""
        found = page = parts().vectors.ids_after(namespace, "", PAGE)
        while len(page) == PAGE:
            page = parts().vectors.ids_after(namespace, page[-1], PAGE)
            found += page
        return found
