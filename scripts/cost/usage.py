"""What a load makes others count: bytes, tokens, rows and calls of a month."""

from __future__ import annotations

import math
from dataclasses import dataclass

from context_search.core.config import IndexConfig
from context_search.indexing.calibrate import QUESTIONS
from context_search.indexing.completion import LEAST_CHUNKS
from context_search.indexing.indexer import IndexLimits
from context_search.maintenance.rules.health import CleanupLimits
from context_search.maintenance.rules.sweeps import SweepExtent, SweepRound
from context_search.maintenance.sweep import PAGE
from context_search.ranking.unanswered import UNANSWERED
from context_search.text.chunking import estimated_tokens
from scripts.cost.load import Load, State
from scripts.cost.quantities import quantity

LEAST_WRITTEN = 10_000
LEAST_QUERIED = 1_280_000_000
LEGS = 2
DELETES = 2
"""Every vector row is deleted twice, with the grace between."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The counters of a month. Of a first load only what it writes, embeds and carries out."""

    rows: float
    written_bytes: float
    small_written_bytes: float
    queried_bytes: float
    returned_bytes: float
    tokens: float
    index_runs: float
    index_seconds: float
    pages: float = 0.0


@dataclass(frozen=True, slots=True)
class Text:
    """What one string of a load becomes."""

    load: Load

    def given(self, name: str) -> float:
        """Returns a quantity in the load's language."""
        return quantity(name, self.load.language)

    @property
    def chunks(self) -> float:
        """Chunks of a string."""
        return self.given("chunks") * self.load.characters / 1000

    @property
    def windows(self) -> float:
        """Vector rows of a chunk."""
        return self.given("windows") if self.load.window_tokens else 1.0

    @property
    def rows(self) -> float:
        """Vector rows of a string."""
        return self.chunks * self.windows

    @property
    def answers(self) -> float:
        """Rows that both legs return to a question: of the nearest chunks all windows may come."""
        held, wanted = self.load.strings / self.load.namespaces, self.given("candidates")
        config = IndexConfig("", self.load.dimensions, window_tokens=self.load.window_tokens)
        nearest = min(wanted * config.most_windows, held * self.rows)
        return nearest + min(wanted, held * self.chunks)

    @property
    def row_bytes(self) -> float:
        """Bytes of a row as it is written, its share of its chunk's tokens included."""
        plain = self.given("id") + self.given("indexed") + self.given("unindexed")
        return plain + 4 * self.load.dimensions + self.token_bytes

    @property
    def token_bytes(self) -> float:
        """Bytes of keyword tokens, which only the first window of a chunk has, for each row."""
        return self.given("stored tokens") * self.load.characters / self.rows

    @property
    def tokens_of_chunk(self) -> float:
        """Tokens that a chunk is embedded for."""
        characters = self.load.characters * self.given("embedded")
        return characters * self.given("model tokens") / self.chunks

    @property
    def batches(self) -> float:
        """Requests that write a whole string."""
        return math.ceil(self.chunks / IndexLimits().batch_chunks)

    @property
    def written(self) -> float:
        """Bytes billed for writing a whole string."""
        return max(LEAST_WRITTEN * self.batches, self.rows * self.row_bytes)


def first_load(load: Load) -> Usage:
    """Returns what it takes to index everything once."""
    text = Text(load)
    chunks = load.strings * text.chunks
    return Usage(
        rows=load.strings * text.rows,
        written_bytes=load.strings * text.written,
        small_written_bytes=0.0,
        queried_bytes=0.0,
        returned_bytes=0.0,
        tokens=chunks * text.tokens_of_chunk + calibrating_tokens(text),
        index_runs=load.strings + calibrations(text) + 1,
        index_seconds=chunks * text.given("chunk seconds"),
    )


def calibrations(text: Text) -> float:
    """Returns how many indexes are calibrated after a first load; one run more is the model's."""
    is_one = text.load.strings * text.chunks / text.load.namespaces >= LEAST_CHUNKS
    return text.load.namespaces if is_one else 0.0


def calibrating_tokens(text: Text) -> float:
    """Returns the tokens of sentences with what is left of their windows, and of what is asked once
    a model.
    """
    chunks = text.load.strings * text.chunks / text.load.namespaces
    asked = min(QUESTIONS, chunks) * text.tokens_of_chunk / text.windows
    return calibrations(text) * asked + sum(map(estimated_tokens, UNANSWERED))


def month(load: Load, state: State) -> Usage:
    """Returns what edits, questions and the sweep count in a month after that."""
    text = Text(load)
    edits, questions, pages = load.edits, load.questions, swept_pages(load)
    changed = text.given("changed chunks")
    rewritten = text.rows if state.rewrites_strings else changed * text.windows
    upserts = max(LEAST_WRITTEN, rewritten * text.row_bytes)
    deletes = deleted_bytes(load, rewritten * text.given("id"))
    # Vectors of unchanged chunks are read back to be written again.
    reads = text.batches if state.rewrites_strings else 0.0
    hit = text.given("id") + 4
    vector = text.given("id") + load.dimensions * load.bytes_per_number
    read_back = max(0.0, rewritten - changed * text.windows)
    swept = min(PAGE, load.strings * text.rows / load.namespaces)
    answers = text.answers
    query = max(LEAST_QUERIED, kept_bytes(load) / load.namespaces)
    return Usage(
        rows=load.strings * text.rows,
        written_bytes=edits * upserts + deletes,
        small_written_bytes=deletes + (0.0 if state.rewrites_strings else edits * upserts),
        queried_bytes=query * (LEGS * questions + pages + edits * reads),
        returned_bytes=questions * answers * hit
        + pages * swept * text.given("id")
        + edits * read_back * vector,
        tokens=edits * changed * text.tokens_of_chunk + questions * text.given("question tokens"),
        index_runs=2 * edits,
        index_seconds=edits * _edit_seconds(text, rewritten / text.windows),
        pages=pages,
    )


def _edit_seconds(text: Text, chunks: float) -> float:
    changed = text.given("changed chunks") * text.given("chunk seconds")
    return text.given("edit seconds") + changed + chunks * text.given("rewritten seconds")


def deleted_bytes(load: Load, of_edit: float) -> float:
    """Returns what deletes are billed: those of a run of ``cleanup`` go together."""
    requests = min(DELETES * load.edits, load.cleanups * load.namespaces)
    return max(LEAST_WRITTEN * requests, DELETES * load.edits * of_edit)


def swept_pages(load: Load) -> float:
    """Returns the pages that the sweep reads in a month.

    A round of every namespace, as often as rounds follow each other.
    """
    rows = load.strings * Text(load).rows
    pages = math.ceil(rows / load.namespaces / PAGE) * math.ceil(load.namespaces)
    once = SweepRound.of(
        SweepExtent(math.ceil(rows), pages, oldest_s=0.0),
        every_s=load.cleanup_s,
        swept_after_s=max(CleanupLimits().silent_s, CleanupLimits().idle_s),
    )
    return pages * load.days * 86_400 / once.seconds if once.seconds else 0.0


def kept_bytes(load: Load, *, priced: bool = False) -> float:
    """Returns what turbopuffer keeps; ``priced``: what has no index counts half."""
    text = Text(load)
    vector = load.dimensions * load.bytes_per_number
    plain = text.given("unindexed") * (0.5 if priced else 1.0)
    row = vector + text.given("id") + text.given("indexed") + plain + text.token_bytes
    return load.strings * text.rows * row
