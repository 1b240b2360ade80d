"""Which services the functions talk to: the local parts, or the user's where the user names them.

The rule is the same everywhere: a service whose variables the user has set is used as set, and
its local part is not started. Everything else is as the template has it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from context_search.integrations.secrets import with_values
from local.embedding import DIMENSIONS, MODEL, PASSAGE_PARAMS, QUERY_PARAMS
from local.emulator import CREDENTIALS, UPLOAD_BUCKET, queue_url
from local.invocation import REGION
from local.loopback_only import LOOPBACK_HOSTS
from local.options import DEFAULT_SCHEDULE_EVERY_S, DEFAULT_WORKERS
from local.template import Template, TemplateError
from local.variables import Variables

_LOOPBACK = "127.0.0.1,localhost"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which parts are local; False where the user's environment names a real service."""

    database: bool
    turbopuffer: bool
    embedding: bool
    queue: bool

    @classmethod
    def of(cls, user: Mapping[str, str]) -> Choice:
        """Real turbopuffer needs a key and a place, real SQS both queues' URLs."""
        place = user.get("TURBOPUFFER_REGION") or user.get("TURBOPUFFER_BASE_URL")
        return cls(
            database=not user.get("DATABASE_URL"),
            turbopuffer=not (user.get("TURBOPUFFER_API_KEY") and place),
            embedding=user.get("EMBEDDING_MODEL", MODEL) == MODEL,
            queue=not (user.get("QUEUE_URL") and user.get("DEAD_LETTER_QUEUE_URL")),
        )

    @property
    def own(self) -> list[str]:
        """The parts that are the user's own."""
        return [name for name, is_local in asdict(self).items() if not is_local]


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where the parts are, local or real, and where they serve. ``emulator_url`` None: real AWS."""

    database_url: str
    turbopuffer_url: str
    emulator_url: str | None
    queue_url: str
    dead_letter_queue_url: str
    public_url: str = ""


# What the template does not set, because a deployment has it from elsewhere or wants the default.
_LOCAL_ONLY = {
    # One process stands for all functions, whose names the template gives them one by one.
    "POWERTOOLS_SERVICE_NAME": "context-search",
    # API Gateway answers under its own names only. Here a web page whose name its owner leads to
    # this machine comes with that name.
    "ALLOWED_HOSTS": " ".join(LOOPBACK_HOSTS),
    # Lambda runs one request at a time; here every handler thread may need a connection.
    "DATABASE_CONNECTIONS": "104",
    # One machine is restarted often and has nobody else's late writes to fear, so what a killed
    # stack left behind is taken up within seconds.
    "INDEX_LEASE_SECONDS": "15",
    "SILENT_AFTER_SECONDS": "10",
    "DELETE_GRACE_SECONDS": "20",
}


# One process stands for all functions, and its environment holds the secrets.
_ALL_FUNCTIONS = {"SERVES_HTTP": "true", "MODEL_SECRETS_ARN": "", "INTERNAL_SECRETS_ARN": ""}


def function_environment(
    user: Mapping[str, str],
    choice: Choice,
    endpoints: Endpoints,
    secrets: Mapping[str, str],
    template: Path,
) -> dict[str, str]:
    """The environment the functions run in: the template's, with parameters from here.

    A variable of the user's stands for the parameter that sets it; the local parts come before
    it, and the address that they serve at does not: the user may have a name for it. What the
    template does not set is the user's, or ``_LOCAL_ONLY``.
    """
    variables = Variables.read(template)
    environment = {name: value for name, value in user.items() if name != "PYTHONPATH"}
    chosen = {name: value for name, value in environment.items() if value}
    chosen = {"PUBLIC_URL": endpoints.public_url, **chosen}
    references = {
        "SecretsArn": "",
        **variables.parameters_of({**chosen, **_local_variables(choice, endpoints)}),
        "Queue": endpoints.queue_url,
        "DeadLetterQueue": endpoints.dead_letter_queue_url,
        "UploadBucket": UPLOAD_BUCKET if choice.queue else user.get("UPLOAD_BUCKET", ""),
    }
    environment = {**_LOCAL_ONLY, **environment, **variables.shared(references), **_ALL_FUNCTIONS}
    environment = with_values(environment, _secret(user, choice, endpoints, secrets))
    environment |= _direct_loopback(user)
    if endpoints.emulator_url:
        environment = _local_aws(environment, endpoints.emulator_url)
    return environment


def _local_variables(choice: Choice, endpoints: Endpoints) -> dict[str, str]:
    """What parameters of the template have to lead to for the local parts to be used."""
    chosen = {
        "INDEX_CONCURRENCY": str(DEFAULT_WORKERS),
        "CLEANUP_SCHEDULE": f"rate({DEFAULT_SCHEDULE_EVERY_S:.0f} seconds)",
    }
    if choice.turbopuffer:
        chosen |= {"TURBOPUFFER_BASE_URL": endpoints.turbopuffer_url}
    if choice.embedding:
        chosen |= {
            "EMBEDDING_MODEL": MODEL,
            "EMBEDDING_DIMENSIONS": str(DIMENSIONS),
            "EMBEDDING_QUERY_PARAMS": json.dumps(dict(QUERY_PARAMS)),
            "EMBEDDING_PASSAGE_PARAMS": json.dumps(dict(PASSAGE_PARAMS)),
        }
    return chosen


def _secret(
    user: Mapping[str, str], choice: Choice, endpoints: Endpoints, secrets: Mapping[str, str]
) -> dict[str, str]:
    """The values that the secret of a deployment has: the user's, or made here."""
    key = user.get("TURBOPUFFER_API_KEY", "")
    return {
        "database_url": endpoints.database_url,
        "turbopuffer_api_key": "local" if choice.turbopuffer else key,
        "embedding_api_key": user.get("EMBEDDING_API_KEY", ""),
        "internal_secret": user.get("INTERNAL_SECRET") or secrets["internal_secret"],
        "internal_secret_previous": user.get("INTERNAL_SECRET_PREVIOUS", ""),
        "query_hash_key": user.get("QUERY_HASH_KEY") or secrets["query_hash_key"],
    }


def _local_aws(environment: Mapping[str, str], emulator_url: str) -> dict[str, str]:
    """No variable of the user's may lead boto3 to a real account by accident."""
    foreign = {name: value for name, value in environment.items() if not name.startswith("AWS_")}
    return (
        foreign
        | CREDENTIALS
        | {
            "AWS_ENDPOINT_URL": emulator_url,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,  # the name boto3 reads
        }
    )


def process_environment(user: Mapping[str, str], root: Path) -> dict[str, str]:
    """What the Python of any part needs, and nothing that configures a service."""
    kept = {
        name: value
        for name, value in user.items()
        if name in {"PATH", "HOME", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH"}
        or name.startswith(("LC_", "PYTHON"))
    }
    sources = [str(root), str(root / "shared"), user.get("PYTHONPATH", "")]
    return kept | {"PYTHONPATH": ":".join(filter(None, sources))}


def turbopuffer_url(user: Mapping[str, str]) -> str:
    """Where the user's turbopuffer is; the SDK's form for a region."""
    return (
        user.get("TURBOPUFFER_BASE_URL") or f"https://{user['TURBOPUFFER_REGION']}.turbopuffer.com"
    )


def queue_urls(
    user: Mapping[str, str], emulator_url: str | None, template: Template
) -> tuple[str, str]:
    """The work queue's URL and its dead-letter queue's. Raises TemplateError without the latter."""
    if emulator_url is None:
        return user["QUEUE_URL"], user["DEAD_LETTER_QUEUE_URL"]
    work = template.work_queue
    if work.dead_letter_id is None:
        raise TemplateError(f"{work.logical_id} has no RedrivePolicy")
    dead = template.queues[work.dead_letter_id]
    return queue_url(emulator_url, work), queue_url(emulator_url, dead)


def _direct_loopback(user: Mapping[str, str]) -> dict[str, str]:
    """No proxy of the user's between the parts. Both spellings alike: which one wins differs."""
    hosts = user.get("no_proxy") or user.get("NO_PROXY")
    value = f"{hosts},{_LOOPBACK}" if hosts else _LOOPBACK
    return {"NO_PROXY": value, "no_proxy": value}
