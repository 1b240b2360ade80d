"""``python -m local.serve``: run the product on this machine until Ctrl-C."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from local.default_project import default_project
from local.environment import Choice
from local.options import DEFAULT_SCHEDULE_EVERY_S, DEFAULT_WORKERS, ROOT, StackOptions
from local.sign_in import console_address
from local.stack import Stack
from local.state import (
    DEFAULT_STATE,
    StackBusyError,
    StackError,
    State,
    write_private,
)

DEFAULT_PORT = 8787
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until a signal. Returns 0 then, 2 when something in use is in the way, else 1."""
    arguments = _parser().parse_args(argv)
    for number in _SIGNALS:
        signal.signal(number, _interrupt)
    try:
        _serve(arguments)
    except KeyboardInterrupt:
        print("stopped")
        return 0
    except StackError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, StackBusyError) else 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local.serve", description=__doc__)
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="0: any free port")
    parser.add_argument("--state", type=Path, default=DEFAULT_STATE)
    parser.add_argument("--template", type=Path, default=ROOT / "template.yaml")
    parser.add_argument("--workers", type=int, default=DEFAULT_WORKERS)
    parser.add_argument(
        "--schedule-every", type=float, default=DEFAULT_SCHEDULE_EVERY_S, metavar="SECONDS"
    )
    return parser


def _interrupt(*_: object) -> None:
    """The first signal starts the orderly stop, which further ones must not break."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _serve(arguments: argparse.Namespace) -> None:
    started = time.monotonic()
    state = State(arguments.state)
    options = StackOptions(
        arguments.port, arguments.template, arguments.workers, arguments.schedule_every
    )
    user = dict(os.environ)  # noqa: TID251  the one place where the local stack reads it
    project: dict[str, Any] = {}
    with ExitStack() as leaving:

        def report(stack: Stack) -> None:
            """The file is there before the first answer: who waits for /healthz may read it."""
            project.update(default_project(stack.endpoints.database_url, state.project))
            leaving.callback(state.endpoints.unlink, missing_ok=True)
            write_private(state.endpoints, _endpoints(stack, project))

        with Stack(state, user, options, before_serving=report) as stack:
            _announce(stack, state, user, project["api_key"], time.monotonic() - started)
            stack.wait(threading.Event())


def _endpoints(stack: Stack, project: dict[str, Any]) -> dict[str, Any]:
    return {
        "base_url": stack.base_url,
        "mcp_url": f"{stack.base_url}/mcp",
        "api_key": project["api_key"],
        "project_id": project["project_id"],
        "internal_secret": stack.internal_secret,
        "turbopuffer_url": stack.endpoints.turbopuffer_url,
        "database_url": stack.endpoints.database_url,
        "queue_url": stack.endpoints.queue_url,
        "dead_letter_queue_url": stack.endpoints.dead_letter_queue_url,
    }


def _announce(
    stack: Stack, state: State, user: Mapping[str, str], api_key: str, seconds: float
) -> None:
    print(f"context-search serves, {seconds:.1f} s after the start")
    print(f"  API   {stack.base_url}/api/v1")
    print(f"  MCP   {stack.base_url}/mcp")
    print(f"  page  {console_address(stack.base_url, api_key)}")
    print("        (signs in once, within five minutes; later: context-search console)")
    own = Choice.of(user).own
    print(
        f"  yours {', '.join(own)}"
        if own
        else "  every part is local: no variable names one of yours"
    )
    print(f"  keys  {state.endpoints}")
    print(f"  logs  {state.logs}")
    print("Ctrl-C stops it", flush=True)


if __name__ == "__main__":
    sys.exit(main())
