"""The bodies of retrieval. Unknown fields are refused, nothing is coerced.

Names are ``topK`` and ``top_k`` alike.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated

from pydantic import ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from context_search.domain.retrieval import RetrievalSettings
from context_search.domain.search import QuestionLimits
from context_search.domain.text.sensitive import SENSITIVE_KINDS, SensitiveKind
from context_search.web.requests import Body

TopK = Annotated[int, Field(ge=1, le=50)]
MinScore = Annotated[float, Field(ge=0, le=1)]
MaxTokens = Annotated[int, Field(ge=1, le=100_000)]
Neighbours = Annotated[int, Field(ge=0, le=3)]
Version = Annotated[int, Field(ge=0, le=2**63 - 1)]

_DEFAULTS = RetrievalSettings()


class _Body(Body):
    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )

    @model_validator(mode="before")
    @classmethod
    def _is_named_once(cls, given: object) -> object:
        names = given if isinstance(given, dict) else {}
        for field in cls.model_fields:
            if field != (alias := to_camel(field)) and field in names and alias in names:
                raise ValueError(f"{alias} and {field} are the same field: give one of them")
        return given


class RetrieveBody(_Body):
    """``POST …/retrieve``; what is left out is as the project's settings say."""

    query: Annotated[str, Field(min_length=1, max_length=2_000)]
    top_k: TopK | None = None
    min_score: MinScore | None = None
    max_tokens: MaxTokens | None = None

    @property
    def limits(self) -> QuestionLimits:
        """What differs from the settings."""
        return QuestionLimits(
            top_k=self.top_k, min_score=self.min_score, max_tokens=self.max_tokens
        )


class RedactionBody(_Body):
    """Whether redaction is on, and for which kinds."""

    enabled: bool | None = None
    kinds: Annotated[list[SensitiveKind], Field(max_length=len(SENSITIVE_KINDS))] | None = None


class SettingsBody(_Body):
    """``PATCH …/retrieval-settings``: what is left out stays, null is the default again.

    ``version`` does what ``If-Match`` does.
    """

    top_k: TopK | None = None
    min_score: MinScore | None = None
    max_tokens: MaxTokens | None = None
    neighbours: Neighbours | None = None
    redaction: RedactionBody | None = None
    version: Version | None = None

    def applied_to(self, settings: RetrievalSettings) -> RetrievalSettings:
        """Returns the settings with the body's changes."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        given.pop("version", None)
        if "redaction" in given:
            given |= _redaction(given.pop("redaction"))
        names = [field.name for field in fields(RetrievalSettings)]
        values = {name: given.get(name, getattr(settings, name)) for name in names}
        return RetrievalSettings(
            **{
                name: getattr(_DEFAULTS, name) if value is None else value
                for name, value in values.items()
            }
        )


def _redaction(body: RedactionBody | None) -> dict[str, object]:
    if body is None:
        return {"redaction": None, "kinds": None}
    given: dict[str, object] = {}
    if "enabled" in body.model_fields_set:
        given["redaction"] = body.enabled
    if "kinds" in body.model_fields_set:
        named = body.kinds
        given["kinds"] = (
            None if named is None else tuple(kind for kind in SENSITIVE_KINDS if kind in named)
        )
    return given
