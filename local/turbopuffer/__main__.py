"""``python -m local.turbopuffer --data DIR``: runs the server until it is stopped.

Prints its address once it listens, on a free port or on ``--fd``, a socket of its parent.
"""

from __future__ import annotations

import argparse
import socket
from pathlib import Path

import uvicorn

from local.loopback_only import loopback_only
from local.processes import listen
from local.turbopuffer import create_app
from local.turbopuffer.abortable import AbortableProtocol

# Longer than the SDK keeps an idle connection (60 s), so that the client is the one to close it.
_KEEP_ALIVE_S = 75
_SHUTDOWN_S = 5


def main() -> None:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m local.turbopuffer", description=__doc__)
    parser.add_argument("--fd", type=int, help="a bound socket that is inherited")
    parser.add_argument("--data", type=Path, required=True, help="directory; made if missing")
    options = parser.parse_args()
    app = create_app(options.data)
    listener = listen(0) if options.fd is None else socket.socket(fileno=options.fd)
    print(f"turbopuffer: listening on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(
        loopback_only(app),
        http=AbortableProtocol,
        access_log=False,
        log_level="warning",
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_SHUTDOWN_S,
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
