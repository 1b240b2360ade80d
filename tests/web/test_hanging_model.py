"""A model that hangs holds up its own questions only."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from context_search.composition.searching import QUESTIONS_AT_ONCE
from context_search.core.config import IndexConfig
from context_search.core.errors import EmbeddingTimeoutError
from context_search.integrations.ports import Embedder
from context_search.postgres.pool import Database
from testing.in_memory.embedder import WordEmbedder
from tests.web.api import LocalParts

HANGING, SOUND = IndexConfig("hanging/words", 64), IndexConfig("sound/words", 64)


class Hanging(WordEmbedder):
    """Answers when it is told to, whatever the time it was given."""

    def __init__(self) -> None:
        super().__init__(64)
        self.reported = threading.Event()

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:
        assert self.reported.wait(60)
        return super().embed_query(text, timeout_s=timeout_s)


class TwoModels(LocalParts):
    """Parts with a model that hangs beside one that does not."""

    def __init__(self, database: Database, turbopuffer_url: str) -> None:
        super().__init__(database, turbopuffer_url)
        self.hanging = Hanging()

    def embedder_of(self, config: IndexConfig) -> Embedder:
        """See the base."""
        return self.hanging if config == HANGING else super().embedder_of(config)


@pytest.fixture
def parts(application_database: Database, turbopuffer_url: str) -> Iterator[TwoModels]:
    made = TwoModels(application_database, turbopuffer_url)
    yield made
    made.hanging.reported.set()


def test_a_model_that_hangs_holds_up_its_own_questions_only(parts: TwoModels) -> None:
    embed = parts.use_cases.searching.searcher.candidates.embed.embed

    def ask(number: int) -> str:
        with pytest.raises(EmbeddingTimeoutError) as caught:
            embed(1, HANGING, f"question {number}", timeout_s=0.2)
        return caught.value.code

    with ThreadPoolExecutor(QUESTIONS_AT_ONCE) as threads:
        assert set(threads.map(ask, range(QUESTIONS_AT_ONCE))) == {"EMBEDDING_TIMEOUT"}
    vector, was_kept = embed(1, SOUND, "harbour", timeout_s=5)
    assert (len(vector), was_kept) == (64, False)
