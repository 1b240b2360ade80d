"""SQS and S3 on this machine: MiniStack as a child process.

MiniStack keeps queues in memory. That is enough: a message holds ids only, the outbox in Postgres
knows what was not done, and ``cleanup`` sends it again after a restart. S3 objects are kept on
disk, because an uploaded document exists nowhere else until it is imported.
"""

from __future__ import annotations

from pathlib import Path

from local.invocation import ACCOUNT, REGION
from local.template import QueueSpec

UPLOAD_BUCKET = "uploads"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}


def emulator_environment(url: str, state: Path) -> dict[str, str]:
    """MiniStack's settings: where it is reached, two services, nothing else touched."""
    return {
        "GATEWAY_PORT": url.rpartition(":")[2],
        "BIND_HOST": "127.0.0.1",
        "MINISTACK_HOST": "127.0.0.1",
        "MINISTACK_REGION": REGION,
        "SERVICES": "sqs,s3",
        # These two listen on ports of their own unless told not to, whatever SERVICES says.
        "SFTP_ENABLED": "0",
        "IOT_MTLS_ENABLED": "0",
        # It stops containers that carry its label when it starts: other people's too.
        "DOCKER_HOST": f"unix://{state / 'no-docker.sock'}",
        "PERSIST_STATE": "0",
        "S3_PERSIST": "1",
        "S3_DATA_DIR": str(state / "s3"),
        # Its pid file goes there; in /tmp another user's may be in the way.
        "TMPDIR": str(state / "tmp"),
        # The secret that it checks the signatures of URLs with.
        **CREDENTIALS,
        "LOG_LEVEL": "WARNING",
    }


def queue_url(endpoint: str, spec: QueueSpec) -> str:
    """The URL a queue of the template has at the emulator."""
    return f"{endpoint}/{ACCOUNT}/{spec.name}"
