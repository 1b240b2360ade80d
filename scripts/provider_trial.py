"""Asks litellm for vectors and rankings, of every provider and model it knows; see prove_layers.

    python -I scripts/provider_trial.py [FOLDER...]

Prints JSON: what each call came to (``vectors``, ``ranking`` or the error), and which modules were
looked for in vain below packages that are there. With the whole of litellm and with what is
shipped of it both must be the same. Nothing outside of this machine is reached.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.abc import MetaPathFinder
from typing import Any

TIMEOUT_S = 2.0
# Each provider takes what it reads from this one answer, and fails for the rest.
ANSWER = {
    "object": "list",
    "model": "m",
    "id": "1",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.25, 0.5], "relevance_score": 0.5}],
    "embedding": [0.25, 0.5],
    "embeddings": [[0.25, 0.5]],
    "results": [{"index": 0, "relevance_score": 0.5, "relevanceScore": 0.5}],
    "usage": {"prompt_tokens": 2, "total_tokens": 2},
    "meta": {"billed_units": {"input_tokens": 2, "search_units": 1}},
}
# What it is run with: credentials that are no api_key, so that nobody looks for them elsewhere.
VARIABLES = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_MODE": "PRODUCTION",  # no .env file is read
    "AWS_ACCESS_KEY_ID": "a",
    "AWS_SECRET_ACCESS_KEY": "b",
    "AWS_REGION_NAME": "eu-central-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "HOME": "/nonexistent",
}


class MissingModules(MetaPathFinder):
    """The last finder: notes what is asked for and not there, even where the caller copes."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def find_spec(self, name: str, *_: object) -> None:
        """Finds nothing. A name without a dot is a distribution's, which may be absent."""
        if "." in name:
            self.names.add(name)


class Provider(BaseHTTPRequestHandler):
    """Answers every request alike."""

    def do_POST(self) -> None:
        """Reads the request to its end."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        """The same."""
        self.do_POST()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Says nothing."""


def stay_here(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: no other machine's name is looked up, and no other address called."""
    asked = {"socket.getaddrinfo": lambda: arguments[0], "socket.connect": lambda: arguments[1][0]}
    if event in asked and asked[event]() != "127.0.0.1":
        raise OSError("outside of this machine")


def outcome(call: Callable[..., Any], arguments: dict[str, Any], good: str) -> str:
    """``good``, or the class and the first line of the error."""
    try:
        call(**arguments)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is compared
        return f"{type(error).__name__}: {error}".split("\n", 1)[0]
    return good


def models(litellm: Any) -> Iterator[str]:
    """A model of each provider, and all that litellm has prices for."""
    for provider in litellm.LlmProviders:
        yield f"{provider.value}/m"
    for model, known in litellm.model_cost.items():
        if known.get("mode") in ("embedding", "rerank"):
            provider = known["litellm_provider"].split("-", 1)[0]
            yield model if model.startswith(f"{provider}/") else f"{provider}/{model}"


def outcomes(address: str) -> dict[str, str]:
    """Call and model → what came of it."""
    import litellm  # noqa: PLC0415 - see main

    logging.disable()
    litellm.suppress_debug_info = True
    calls = (
        (litellm.embedding, "vectors", {"input": ["one"]}),
        (litellm.rerank, "ranking", {"query": "one", "documents": ["two"]}),
    )
    asked = {"api_key": "none", "api_base": address, "timeout": TIMEOUT_S, "max_retries": 0}
    return {
        f"{good} of {model}": outcome(call, {**asked, "model": model, **question}, good)
        for model in models(litellm)
        for call, good, question in calls
    }


def main() -> None:
    """Runs every call."""
    sys.path[:0] = sys.argv[1:]
    missing = MissingModules()
    sys.meta_path.append(missing)
    sys.addaudithook(stay_here)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found = outcomes(f"http://127.0.0.1:{server.server_port}")
    json.dump({"outcomes": found, "missing": sorted(missing.names)}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
