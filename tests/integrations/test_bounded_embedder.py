"""What a question's time pays for."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from context_search.core.errors import EmbeddingTimeoutError
from context_search.integrations.models.bounded_models import BoundedEmbedder
from testing.in_memory.embedder import WordEmbedder


class Importing(WordEmbedder):
    """Notes which threads have imported its library."""

    def __init__(self) -> None:
        super().__init__(1)
        self.warmed_by: list[int] = []

    def warm_up(self) -> None:
        """See the port."""
        self.warmed_by.append(threading.get_ident())


def test_the_import_of_the_library_is_not_in_the_time_of_the_question() -> None:
    inner, free = Importing(), threading.Event()
    with ThreadPoolExecutor(1) as threads:
        threads.submit(free.wait)  # no thread is free, so nothing that is timed begins
        with pytest.raises(EmbeddingTimeoutError):
            BoundedEmbedder(inner, threads).embed_query("q", timeout_s=0.01)
        free.set()
        assert inner.warmed_by == [threading.get_ident()]
        assert BoundedEmbedder(inner, threads).embed_query("q", timeout_s=10) == [1.0]
