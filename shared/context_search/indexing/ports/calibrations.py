"""What relevance is measured by, a generation of an index at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from context_search.core.model import Index, IndexCalibration


@dataclass(frozen=True, slots=True)
class SampledRow:
    """A searchable chunk: its text, its place, and what turbopuffer calls its vectors."""

    text: str
    table_id: int
    json_pointer: str
    index: int
    doc_id: str
    window_count: int


class Calibrations(Protocol):
    """What generations were found to be worth, and what that takes.

    What was found is read with the index, in ``Generation.calibration``.
    """

    def chunks(self, index: Index) -> int:
        """Returns how many chunks a generation holds, those on the way included; cheap."""
        ...

    def sample(self, index: Index, *, limit: int) -> list[SampledRow]:
        """Returns up to ``limit`` chunks of active sets, chosen and ordered by the hash of what
        was embedded: the same ones for equal content. Each text once.
        """
        ...

    def note(self, index: Index, found: IndexCalibration) -> bool:
        """Stores what was found; False when the generation does not answer any more."""
        ...

    def asked(self, model: str, dimensions: int, questions: bytes) -> list[Sequence[float]]:
        """Returns the vectors that were kept for a model; none when none are.

        ``questions`` is a hash that stands for the list of questions, and for how it was embedded.
        """
        ...

    def keep_asked(
        self, model: str, dimensions: int, questions: bytes, vectors: Sequence[Sequence[float]]
    ) -> None:
        """Keeps the vectors of questions, in f32; those of another list for the model go."""
        ...
