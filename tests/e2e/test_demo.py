"""The demo's walk over a document of somebody's own that no request takes."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from context_search_cli.importing import MAX_INLINE_BYTES
from local.demo.__main__ import Walk, take
from tests.builders import english, planted
from tests.e2e.running import Running

pytestmark = [pytest.mark.stack, pytest.mark.slow]

SENTENCE = "The ferryman of the salt lake paints lanterns for the heron parade."


def test_a_document_that_fits_no_request_is_uploaded_and_searched(stack: Running) -> None:
    short = ["x" * 9_000] * (MAX_INLINE_BYTES // 9_000 + 1)
    document = {"short": short, "long": planted(english(12_000, 4), SENTENCE, 9_000)}
    content = json.dumps(document).encode()
    walk = Walk(document, content, ["Who paints lanterns for the heron parade?"], 10_000)
    console = Console(file=io.StringIO(), width=100, color_system=None)
    take(walk, console, stack.base_url, stack.internal_secret)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "ready: " in shown
    assert SENTENCE in " ".join(shown.split())
