"""``python -m local.turbopuffer --port P --data DIR``: runs the server until it is stopped.

Prints its address once it listens; port 0 takes a free one.
"""

from __future__ import annotations

import argparse
import socket
from pathlib import Path

import uvicorn

from local.loopback_only import loopback_only
from local.turbopuffer import create_app
from local.turbopuffer.abortable import AbortableProtocol
from local.turbopuffer.service import Limits

# Longer than the SDK keeps an idle connection (60 s), so that the client is the one to close it.
_KEEP_ALIVE_S = 75
_SHUTDOWN_S = 5
_BACKLOG = 512


def main() -> None:
    """Parse the command line and serve."""
    options = _options()
    limits = Limits(options.max_body_bytes, options.max_filter_deletes)
    app = create_app(options.data, query_slots=options.query_slots, limits=limits)
    listener = _listen(options.host, options.port)
    host, port = listener.getsockname()[:2]
    print(f"turbopuffer: listening on http://{host}:{port}", flush=True)
    config = uvicorn.Config(
        loopback_only(app, options.host),
        http=AbortableProtocol,
        access_log=False,
        log_level="warning",
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_SHUTDOWN_S,
    )
    uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket whose connections send at once.

    uvicorn writes head and body apart; asyncio switches Nagle's algorithm off only where the
    socket names its protocol, and without that each answer waits 40 ms for an acknowledgement.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(_BACKLOG)
    return listener


def _options() -> argparse.Namespace:
    defaults = Limits()
    parser = argparse.ArgumentParser(prog="python -m local.turbopuffer", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True, help="directory; made if missing")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--query-slots", type=int, default=16, help="per namespace")
    parser.add_argument("--max-body-bytes", type=int, default=defaults.body_bytes)
    parser.add_argument("--max-filter-deletes", type=int, default=defaults.filter_deletes)
    return parser.parse_args()


if __name__ == "__main__":
    main()
