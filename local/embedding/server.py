"""``python -m local.embedding.server --port N``: the shipped model behind OpenAI's route.

For functions that know an embedding provider by its address only (``EmbeddingApiBase``).
``input_type`` says what the texts are, ``query`` or ``passage``; passages without it.
"""

from __future__ import annotations

import argparse
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
    parser = argparse.ArgumentParser(prog="python -m local.embedding.server")
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port
    limit_blas_threads()
    uvicorn.run(create_app(), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main()
