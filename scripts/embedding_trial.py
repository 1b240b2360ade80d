"""Runs the deployed embedder with nothing but the given folders importable; run by prove_layers.

    python -I -S scripts/embedding_trial.py FOLDER...

A provider on the loopback interface answers in the shapes that real providers answer in, so the
whole path runs: litellm's routing, its HTTP clients, its reading of answers and of errors.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.abc import MetaPathFinder
from typing import Any

VECTOR = [0.25, 0.5, -1.0]
TEXTS = ["one", "two"]
# Model, and the path below which its provider's client asks.
MODELS = {
    "openai/m": "/v1",
    "azure/m": "",
    "hosted_vllm/m": "/v1",
    "litellm_proxy/m": "/v1",
    "mistral/m": "/v1",
    "nvidia_nim/m": "/v1",
    "together_ai/m": "/v1",
    "fireworks_ai/m": "/v1",
    "voyage/m": "/v1/embeddings",
    "jina_ai/m": "/v1",
    "cohere/embed-m": "/v1/embed",
    "gemini/m": "/v1",
}
TIMEOUT_S = 60.0
SILENT = "silent"
SILENT_S = 2.0
"""Seconds for a provider that does not answer."""
# What the provider does → the embedder's message.
FAILURES = {
    "400": "BadRequestError with status 400",
    "401": "AuthenticationError with status 401",
    "429": "RateLimitError with status 429",
    "500": "InternalServerError with status 500",
    "503": "ServiceUnavailableError with status 503",
    SILENT: "Timeout with status 408",
}


class MissingModules(MetaPathFinder):
    """The last finder: notes what litellm asks for and nobody has, even where it copes."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def find_spec(self, name: str, *_: object) -> None:
        """Finds nothing."""
        if name.startswith("litellm."):
            self.names.add(name)


def answer(path: str, question: dict[str, Any]) -> dict[str, Any]:
    """What the provider that listens under ``path`` says to an embedding request."""
    if path.endswith(":batchEmbedContents"):
        return {"embeddings": [{"values": VECTOR} for _ in question["requests"]]}
    if "texts" in question:
        vectors = [VECTOR for _ in question["texts"]]
        return {"id": "1", "embeddings": {"float": vectors}, "texts": question["texts"]}
    as_base64 = question.get("encoding_format") == "base64"
    vector = base64.b64encode(struct.pack("<3f", *VECTOR)).decode() if as_base64 else VECTOR
    return {
        "object": "list",
        "model": question["model"],
        "data": [
            {"object": "embedding", "index": index, "embedding": vector}
            for index in range(len(question["input"]))
        ],
        "usage": {"prompt_tokens": 2, "total_tokens": 2},
    }


class Provider(BaseHTTPRequestHandler):
    """Answers embeddings, except for a model named after a failure."""

    protocol_version = "HTTP/1.1"
    stopping = threading.Event()

    def do_POST(self) -> None:
        """Reads one JSON request and answers it."""
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model = str(question.get("model", ""))
        if model == SILENT:
            self.stopping.wait()
            return
        status = int(model) if model.isdigit() else 200
        reply = answer(self.path, question) if status == 200 else {"error": {"message": "no"}}
        body = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Says nothing."""


def embed(model: str, address: str) -> list[list[float]]:
    """The vectors that the deployed embedder delivers. Raises its errors."""
    from context_search.integrations.models.litellm_embedder import LitellmEmbedder  # noqa: PLC0415 - see main

    extra = {"api_version": "2024-10-21"} if model.startswith("azure") else {}
    embedder = LitellmEmbedder(
        model, len(VECTOR), api_key="none", api_base=address, passage_params=extra
    )
    embedder.warm_up()
    timeout_s = SILENT_S if model.endswith(SILENT) else TIMEOUT_S
    return embedder.embed_passages(TEXTS, timeout_s=timeout_s)


def check_tokens() -> None:
    """Raises when the vocabulary or its reader is missing."""
    from context_search.integrations.models.tiktoken_counter import TiktokenCounter  # noqa: PLC0415 - see main

    TiktokenCounter().count("a text")


def failure(kind: str, address: str) -> str:
    """The message of the error that reaches the embedder's caller."""
    try:
        embed(f"openai/{kind}", address)
    except Exception as error:  # noqa: BLE001 - whatever it is, its message is compared
        return str(error)
    return "none"


def main() -> None:
    """Runs every model and every failure; ends with 1 on the first wrong one."""
    sys.path[:0] = sys.argv[1:]  # from here on the folders' packages can be imported
    missing = MissingModules()
    sys.meta_path.append(missing)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"

    for model, path in MODELS.items():
        if (vectors := embed(model, address + path)) != [VECTOR] * len(TEXTS):
            sys.exit(f"{model}: {vectors}")
    for kind, expected in FAILURES.items():
        if (reported := failure(kind, f"{address}/v1")) != expected:
            sys.exit(f"{kind}: {reported!r} instead of {expected!r}")
    Provider.stopping.set()
    check_tokens()
    if missing.names:
        sys.exit(f"litellm looked for what prune.txt removes: {sorted(missing.names)}")
    print(f"litellm: {len(MODELS)} providers embed, {len(FAILURES)} failures reach the caller")
    print("tiktoken counts")


if __name__ == "__main__":
    main()
