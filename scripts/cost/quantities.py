"""How much of everything a load needs: every measured quantity of the model, once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scripts.cost.load import Language

MONTH = "the emulated month (tests/functions/test_month.py)"
TEXTS = "the month's texts: the reference of Python, and docs/zh/handbook.md"
LINES = "the emulated month, and 1.2 kB of Lambda's and the API's own lines"
RUN = "runs of the local stack"
ASSUMED = "assumed, to be read from a deployment's own metrics"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure for English and for Chinese, and where it was measured."""

    en: float
    zh: float
    unit: str
    measured: str

    def of(self, language: Language) -> float:
        """Returns the figure of a language."""
        return self.en if language == "en" else self.zh


QUANTITIES: Mapping[str, Quantity] = {
    "chunks": Quantity(1.37, 1.32, "of 1,000 characters", TEXTS),
    "windows": Quantity(1.0, 4.25, "of a chunk, where they have 250 tokens", TEXTS),
    "embedded": Quantity(1.11, 1.10, "characters that are embedded of one of a string", TEXTS),
    "model tokens": Quantity(0.222, 0.805, "of a character, cl100k_base", TEXTS),
    "question tokens": Quantity(15, 23, "of a question", TEXTS),
    "stored tokens": Quantity(0.575, 6.19, "bytes of a character, for keywords", TEXTS),
    "changed chunks": Quantity(1.56, 1.6, "of a sentence put in anywhere", TEXTS),
    "id": Quantity(30, 32, "bytes of a vector row's id", MONTH),
    "indexed": Quantity(56, 56, "bytes of a vector row's filters", MONTH),
    "unindexed": Quantity(20, 20, "bytes of a vector row that only lie there: its pointer", MONTH),
    "candidates": Quantity(50, 50, "chunks that a leg gives to a question", MONTH),
    "search log": Quantity(
        3_100, 3_100, "bytes of a question's lines, Lambda's and the API's too", LINES
    ),
    "index log": Quantity(2_100, 2_100, "bytes of a message's lines", LINES),
    "cleanup log": Quantity(2_800, 2_800, "bytes of a run's lines", LINES),
    "postgres": Quantity(
        6.2, 12.8, "bytes of a character, packed; just written up to 7.1 and 26", RUN
    ),
    "search seconds": Quantity(0.4, 0.4, "of a question, most of it waiting for the model", RUN),
    "chunk seconds": Quantity(0.0135, 0.03, "of a chunk that is embedded", RUN),
    "rewritten seconds": Quantity(0.004, 0.016, "of a chunk whose vector is read back", RUN),
    "edit seconds": Quantity(1.0, 1.0, "of the two messages of an edit, beside its chunks", RUN),
    "cleanup seconds": Quantity(0.5, 0.5, "of a run without a page", RUN),
    "page seconds": Quantity(0.1, 0.1, "of a page of the sweep", ASSUMED),
}


def quantity(name: str, language: Language) -> float:
    """Returns a figure."""
    return QUANTITIES[name].of(language)
