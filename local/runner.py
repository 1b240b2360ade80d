"""``python -m local.runner``: one process that stands for API Gateway, Lambda and their triggers.

A child of ``local.stack``, which passes the functions' environment, an HTTP socket that already
listens and a pipe. Imports everything and warms the model at once, waits for the word that the
other parts are up, serves, and writes a line to the pipe. SIGTERM stops it.
"""

from __future__ import annotations

import importlib
import io
import logging
import os
import signal
import socket
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

from local.child import exit_with_parent
from local.embedding import MODEL, register
from local.gateway import Gateway
from local.invocation import LambdaFunction
from local.options import RunnerOptions
from local.poller import Poller
from local.queues import create_bucket, create_queues, sqs_client
from local.scheduler import Scheduler
from local.template import Template, read_template


def main() -> None:
    """Run until SIGTERM or the parent's end."""
    options = RunnerOptions.load(sys.argv[1])
    go = threading.Event()
    exit_with_parent(go)
    _write_logs_at_once()
    template = read_template(Path(options.template))
    if options.local_model:
        _warm_model()
    functions = [LambdaFunction.load(spec) for spec in template.functions]
    go.wait()
    with ExitStack() as parts:
        _start_parts(parts, options, template, functions)
        stopping = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: stopping.set())
        os.write(options.ready_fd, b"ready\n")
        stopping.wait()
    os._exit(0)  # a handler that still runs must not hold up the stop


def _write_logs_at_once() -> None:
    """Standard output and error are a log file here; the functions' own loggers stay theirs."""
    for stream in (sys.stdout, sys.stderr):
        cast("io.TextIOWrapper", stream).reconfigure(line_buffering=True)
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logger = logging.getLogger("local")
    logger.addHandler(handler)
    logger.propagate = False


def _warm_model() -> None:
    """Import litellm (seconds) and load the model, so that no request has to."""
    register()
    litellm: Any = importlib.import_module("litellm")
    litellm.embedding(model=MODEL, input=["warm"], input_type="query")


def _start_parts(
    parts: ExitStack,
    options: RunnerOptions,
    template: Template,
    functions: list[LambdaFunction],
) -> None:
    client = sqs_client(options.emulator_url, connections=2 * options.workers)
    if options.emulator_url:
        create_queues(client, template)
        create_bucket(options.emulator_url)
    listener = socket.socket(fileno=options.listener_fd)
    parts.enter_context(Gateway(functions, listener, options.hosts))
    for function in functions:
        for mapping in function.spec.queues:
            parts.enter_context(
                Poller(function, mapping, client, options.queue_url, options.workers)
            )
    parts.enter_context(Scheduler(functions, options.schedule_every_s))


if __name__ == "__main__":
    main()
