"""How a project retrieves passages for a language model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from context_search.catalog.rules.settings import Settings
from context_search.ranking.search import QuestionLimits
from context_search.text.sensitive.kinds import SENSITIVE_KINDS, SensitiveKind

DropReason = Literal["over_budget", "after_over_budget"]
# The kinds that there were before settings told "all" from a choice.


@dataclass(frozen=True, slots=True)
class RetrievalSettings(Settings):
    """What a project's owner decides, and callers may narrow within the limits of the API.

    ``top_k`` hits with a relevance of ``min_score`` or more, at most ``max_tokens`` tokens of text;
    ``neighbours`` chunks on each side of a hit may join it where tokens are left. ``redaction``
    hides what is of one of ``kinds``.
    """

    KIND = "retrieval"
    top_k: int = 5
    min_score: float = 0.7
    max_tokens: int = 1_500
    neighbours: int = 1
    redaction: bool = True
    kinds: tuple[SensitiveKind, ...] = SENSITIVE_KINDS

    @property
    def hidden_kinds(self) -> tuple[SensitiveKind, ...]:
        """What is hidden; nothing without redaction."""
        return self.kinds if self.redaction else ()

    def narrowed(self, limits: QuestionLimits) -> RetrievalSettings:
        """Returns the settings of one retrieval: the caller's limits where there are any."""
        return replace(
            self,
            top_k=self.top_k if limits.top_k is None else limits.top_k,
            min_score=self.min_score if limits.min_score is None else limits.min_score,
            max_tokens=self.max_tokens if limits.max_tokens is None else limits.max_tokens,
        )

    def to_json(self) -> str:
        """Without kinds it means all that there are by then."""
        values = asdict(self)
        if self.kinds == SENSITIVE_KINDS:
            del values["kinds"]
        return json.dumps(values, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> RetrievalSettings:
        """Kinds are a list in JSON."""
        kinds = tuple(values.get("kinds", SENSITIVE_KINDS))
        return super(RetrievalSettings, cls).from_mapping({**values, "kinds": kinds})


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A chunk in its place: ``text`` is ``content[start:end]`` of its set's node.

    It is number ``index``, from 0, of ``total`` in its set.
    """

    id: int
    set_id: int
    index: int
    total: int
    start: int
    end: int
    text: str
