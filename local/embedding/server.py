"""``python -m local.embedding.server FD``: the shipped model behind OpenAI's route.

For functions that know an embedding provider by its address only (``EmbeddingApiBase``).
``input_type`` says what the texts are, ``query`` or ``passage``; passages without it.
"""

from __future__ import annotations

import socket
import sys
from functools import partial
from typing import Any

import uvicorn
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from local.blas import limit_blas_threads
from local.embedding.provider import ProviderError, vectors_of
from local.loopback_only import loopback_only


async def _embeddings(request: Request) -> JSONResponse:
    body: dict[str, Any] = await request.json()
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    try:
        data = await run_sync(partial(vectors_of, texts, body.get("input_type", "passage")))
    except ProviderError as error:
        return JSONResponse({"error": {"message": error.message}}, status_code=error.status_code)
    return JSONResponse({"object": "list", "model": body["model"], "data": data})


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


def create_app() -> ASGIApp:
    """The application, for programs of this machine only."""
    routes = [
        Route("/v1/embeddings", _embeddings, methods=["POST"]),
        Route("/health", _health),
    ]
    return loopback_only(Starlette(routes=routes))


def main() -> None:
    """Serves until it is killed."""
    limit_blas_threads()
    server = uvicorn.Server(uvicorn.Config(create_app(), log_level="warning"))
    server.run(sockets=[socket.socket(fileno=int(sys.argv[1]))])


if __name__ == "__main__":
    main()
