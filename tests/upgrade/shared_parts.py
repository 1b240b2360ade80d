"""What both versions share: one database, one queue, one bucket, one turbopuffer, one model."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

import boto3

from context_search.postgres.connection import Connection
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from local.poller import sqs_event
from tests.builders import aws_server, until
from tests.contract.turbopuffer.targets import running
from tests.functions.deployment import (
    DIMENSIONS,
    QUEUE_ARN,
    SECRET,
    SECRET_VALUES,
    Deployment,
    event,
)
from tests.runtime.built import WordServer
from tests.stack import DatabaseFactory
from tests.upgrade.equality import differences
from tests.upgrade.processes import FunctionProcess, functions_of
from tests.upgrade.versions import UpgradeError, Version

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import MessageTypeDef

WINDOW_TOKENS = 60
_RESTS_WITHIN_S = 60.0
# A user's are minutes; with these deletes are final, and sweeps due, before the proof ends.
_PATIENCE = {"DELETE_GRACE_SECONDS": "1", "SILENT_AFTER_SECONDS": "5"}
_WAITING = """
    SELECT (SELECT count(*) FROM tombstone), (SELECT count(*) FROM outbox),
           (SELECT count(*) FROM index_generation WHERE state NOT IN ('active', 'previous')),
           (SELECT count(*) FROM node WHERE state IN ('queued', 'claimed'))
"""
Functions = Mapping[str, FunctionProcess]
# Kinds that the release before does not read → why their messages may wait (decision 0044).
WAITING: dict[str, str] = {}


def _waits(message: MessageTypeDef) -> bool:
    return json.loads(message.get("Body", "{}")).get("kind") in WAITING


@dataclass
class Alternating:
    """A function of which now one version answers, now the other, as a seed has it."""

    draw: random.Random
    processes: list[FunctionProcess]

    def invoke(self, asked: dict[str, Any]) -> Any:
        """One of them answers."""
        return self.draw.choice(self.processes).invoke(asked)


@dataclass
class SharedParts:
    """The parts, and the functions of the versions that were started on them."""

    owner_url: str
    database: Database
    turbopuffer_url: str
    deployed: Deployment  # what answers now: mixed by ``mix``
    aws: Mapping[str, str]
    references: Mapping[str, str]
    logs: Path
    _server_log: Path
    _open: ExitStack
    versions: dict[Version, Functions] = field(default_factory=dict)
    answering: dict[str, list[Version]] = field(default_factory=dict)
    received: int = 0

    def __post_init__(self) -> None:
        self._server_log_at = self._server_log.stat().st_size

    def start(self, version: Version) -> None:
        """Starts the functions of a version."""
        started = functions_of(version, self.references, {**self.aws, **_PATIENCE}, self.logs)
        self.versions[version] = self._open.enter_context(started)

    def owner_migrate(self, version: Version) -> list[str]:
        """Migrates the database as its owner does; returns what was applied."""
        return version.migrate(self.owner_url)

    def mix(self, **versions: Version) -> None:
        """Says of which version each function is from now on."""
        chosen = {name: self.versions[version][name] for name, version in versions.items()}
        self.deployed.functions = chosen
        self.answering = {name: [version] for name, version in versions.items()}

    def alternate(self, seed: int) -> None:
        """From now on each call goes to one version or the other."""
        draw = random.Random(seed)
        names = next(iter(self.versions.values()))
        self.deployed.functions = {
            name: Alternating(draw, [each[name] for each in self.versions.values()])
            for name in names
        }
        self.answering = {name: list(self.versions) for name in names}

    def serves(self, function: str, route: str) -> bool:
        """Whether every version that may answer has a route, as its template says: ``PUT /…``."""
        return all(
            route in {each.key for each in version.functions[function].routes}
            for version in self.answering[function]
        )

    def has_migration(self, function: str, name: str) -> bool:
        """Whether every version that may answer knows what a migration adds."""
        return all(name in version.migrations() for version in self.answering[function])

    def sql(self, statement: str, **values: object) -> list[list[Any]]:
        """Rows of a statement, as the owner."""
        with self.database.transaction() as tx:
            return tx.run(statement, **values)

    def drain(self) -> None:
        """Has all that waits in the queue done. Raises UpgradeError for a message that fails."""
        while messages := self.deployed.receive():
            self.received += len(messages)
            failed = self.deployed.index(messages)
            if left := [each for each in messages if each["MessageId"] in failed and _waits(each)]:
                failed -= {each["MessageId"] for each in left} - self._index_by_latest(left)
            if failed:
                bodies = [each["Body"] for each in messages if each["MessageId"] in failed]
                who = self.deployed.functions["index_node"]
                raise UpgradeError(
                    f"messages that failed, with {getattr(who, 'name', 'both versions')}: {bodies}"
                    + self._said()
                )
            for message in messages:
                self.deployed.sqs.delete_message(
                    QueueUrl=self.deployed.environment["QUEUE_URL"],
                    ReceiptHandle=message["ReceiptHandle"],
                )

    def _index_by_latest(self, messages: list[MessageTypeDef]) -> set[str]:
        """What the release left comes back, and another environment has it."""
        *_, latest = self.versions.values()
        report = latest["index_node"].invoke(sqs_event(messages, QUEUE_ARN))
        return {failure["itemIdentifier"] for failure in report["batchItemFailures"]}

    def clean(self) -> dict[str, Any]:
        """One run of cleanup, and the work that it orders."""
        report: dict[str, Any] = self.deployed.functions["cleanup"].invoke(event("cleanup"))
        if report["errors"]:
            who = getattr(self.deployed.functions["cleanup"], "name", "cleanup of either version")
            raise UpgradeError(f"{who} reports {report['errors']}{self._said()}")
        self.drain()
        return report

    def rest(self) -> tuple[int, int]:
        """Cleans up until nothing waits and every namespace was swept since; then compares.

        Returns how many chunks and vector rows were found equal. Raises UpgradeError when index
        and documents differ.
        """

        def is_quiet() -> bool:
            self.clean()
            return not any(self.sql(_WAITING)[0])

        try:
            until(is_quiet, _RESTS_WITHIN_S)
            began = self.sql("SELECT now()")[0][0]
            until(lambda: self.clean() and self._swept_since(began), _RESTS_WITHIN_S)
        except AssertionError as error:
            raise UpgradeError(
                f"no rest, waiting (tombstones, orders, generations, nodes): "
                f"{self.sql(_WAITING)[0]}: {error}{self._said()}"
            ) from None
        headers = {"x-internal-secret": SECRET}
        integrity = self.deployed.http("GET", "/internal/integrity", headers=headers)["json"]
        for report in integrity["namespaces"]:
            if report["orphans"] or report["missing"]:
                raise UpgradeError(f"integrity: {report}")
        found = differences(self.sql, self.turbopuffer_url)
        if found.wrong:
            raise UpgradeError("index and documents differ:\n" + "\n".join(found.wrong[:10]))
        return found.chunks, found.vector_rows

    def complaints(self) -> list[str]:
        """What any function has logged that should not be there."""
        every = [each for functions in self.versions.values() for each in functions.values()]
        return [line for each in every for line in each.complaints()]

    def database_errors(self) -> list[str]:
        """What Postgres refused in this database, each once: some of it in the course of things."""
        with self._server_log.open("rb") as log:
            log.seek(self._server_log_at)
            lines = log.read().decode("utf-8", "replace").splitlines()
        errors = [line.partition("ERROR:")[2].strip() for line in lines if "ERROR:" in line]
        return [f"Postgres: {error}" for error in dict.fromkeys(errors)]

    def _said(self) -> str:
        return "".join(f"\n{line}" for line in self.complaints()[:6])

    def _swept_since(self, moment: object) -> bool:
        [[behind]] = self.sql(
            "SELECT count(*) FROM index_generation WHERE state = 'active'"
            " AND (swept_at IS NULL OR swept_at < :moment OR sweep_after <> '')",
            moment=moment,
        )
        return not behind


@contextmanager
def shared_parts(
    databases: DatabaseFactory, server_url: str, base: Version, scratch: Path
) -> Iterator[SharedParts]:
    """The parts, an empty database with the schema of ``base``, a role as deploy.md has it."""
    with ExitStack() as open_:
        aws = open_.enter_context(aws_server())
        model_url = open_.enter_context(WordServer().running())
        vectors = open_.enter_context(running(scratch / "turbopuffer"))
        owner = open_.enter_context(databases.empty())
        server_log = _server_log(owner)
        owner_url = urlsplit(server_url)._replace(path=f"/{owner.database}").geturl()
        base.migrate(owner_url)
        role = open_.enter_context(databases.application_of(owner))
        database = Database(owner, max_connections=2)
        open_.callback(database.close)
        sqs, queues = _queues(aws)
        references = {
            "SecretsArn": _secret(aws, role),
            "Queue": queues[0],
            "DeadLetterQueue": queues[1],
            "UploadBucket": "uploads",
            "EmbeddingApiBase": model_url,
            "EmbeddingDimensions": str(DIMENSIONS),
            "EmbeddingWindowTokens": str(WINDOW_TOKENS),
            "TurbopufferBaseUrl": vectors.url,
        }
        logs = scratch / "logs"
        logs.mkdir(exist_ok=True)
        deployed = Deployment({"QUEUE_URL": queues[0]}, {}, sqs)
        yield SharedParts(
            owner_url, database, vectors.url, deployed, aws, references, logs, server_log, open_
        )


def _server_log(owner: DatabaseUrl) -> Path:
    """The server's log, which has the errors of this database from now on."""
    with closing(Connection(owner, timeout_s=60.0)) as admin:
        for setting in ("log_min_messages = error", "log_min_error_statement = panic"):
            admin.query(f"ALTER DATABASE {owner.database} SET {setting}")
        [[data]] = admin.query("SELECT current_setting('data_directory')").rows
    return Path(str(data)).parent / "server.log"


def _session(aws: Mapping[str, str]) -> boto3.Session:
    return boto3.Session(
        aws_access_key_id=aws["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=aws["AWS_SECRET_ACCESS_KEY"],
        region_name=aws["AWS_DEFAULT_REGION"],
    )


def _queues(aws: Mapping[str, str]) -> tuple[Any, list[str]]:
    url = aws["AWS_ENDPOINT_URL"]
    sqs = _session(aws).client("sqs", endpoint_url=url)
    _session(aws).client("s3", endpoint_url=url).create_bucket(Bucket="uploads")
    return sqs, [sqs.create_queue(QueueName=f"q{uuid4().hex}")["QueueUrl"] for _ in range(2)]


def _secret(aws: Mapping[str, str], role: DatabaseUrl) -> str:
    secrets = _session(aws).client("secretsmanager", endpoint_url=aws["AWS_ENDPOINT_URL"])
    login = f"{role.user}:{quote(role.password or '')}"
    url = f"postgresql://{login}@{role.host}:{role.port}/{role.database}"
    values = json.dumps({**SECRET_VALUES, "database_url": url})
    return str(secrets.create_secret(Name=role.user, SecretString=values)["ARN"])
