"""The deployed functions, as ``tests/functions`` has them, and a stranger who uses them."""

from __future__ import annotations

import pytest

from tests.functions.conftest import aws, deployed, log, words
from tests.functions.deployment import Deployment
from tests.hostile.stranger import Stranger

__all__ = ["aws", "deployed", "log", "stranger", "words"]


@pytest.fixture
def stranger(deployed: Deployment, words: None, log: list[str]) -> Stranger:
    """A project of its own; nothing that it does is quoted in a log."""
    return Stranger.new(deployed)
