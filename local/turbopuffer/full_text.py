"""Full-text settings of an attribute, and how a value becomes tokens.

Source: turbopuffer.com/docs/fts. ``word_v4`` (and v3) is UAX #29 word segmentation that keeps
pieces with a letter, a number or an emoji; ``pre_tokenized_array`` takes the caller's tokens
as they are. Stemming, stop words and folding are refused: this project does them itself.
"""

from __future__ import annotations

from typing import Any, Literal

import regex  # type: ignore[import-untyped, unused-ignore]
from pydantic import BaseModel, ConfigDict, Field

from local.turbopuffer.attribute_types import AttributeType, Kind
from local.turbopuffer.errors import invalid, unsupported

_BOUNDARY = regex.compile(r"(?V1w)\b")
_WORD = regex.compile(r"[\p{L}\p{N}\p{Emoji_Presentation}\p{Extended_Pictographic}]")
MAX_QUERY_CHARACTERS = 8_192  # the service says 8,192 and names no unit


class FullText(BaseModel):
    """One attribute's settings; the defaults are the service's (capture of 2026-09-29)."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    tokenizer: Literal["word_v4", "word_v3", "pre_tokenized_array"] = "word_v4"
    language: str = "english"
    stemming: bool = False
    remove_stopwords: bool = False
    case_sensitive: bool = False
    ascii_folding: bool = False
    max_token_length: int = Field(default=39, ge=1, le=254)
    k1: float = Field(default=1.2, gt=0)
    b: float = Field(default=0.75, ge=0, le=1)
    k3: float = Field(default=8.0, gt=0)

    @property
    def pre_tokenized(self) -> bool:
        """True when values and queries are arrays of ready tokens."""
        return self.tokenizer == "pre_tokenized_array"

    def tokens(self, value: str | list[str]) -> list[str]:
        """The tokens of a stored value or of a query."""
        if self.pre_tokenized:
            return list(value)
        texts = [value] if isinstance(value, str) else value
        return [token for text in texts for token in self._words(text)]

    def query_tokens(self, name: str, operand: Any) -> list[str]:
        """The tokens of a query operand; 400 when it is of the wrong shape or too long."""
        if self.pre_tokenized:
            if not isinstance(operand, list) or not all(isinstance(t, str) for t in operand):
                raise invalid(f"attribute {name!r} is pre-tokenized: pass an array of strings")
        elif not isinstance(operand, str):
            raise invalid(f"attribute {name!r} is tokenized by the server: pass a string")
        if sum(map(len, operand)) > MAX_QUERY_CHARACTERS:
            raise invalid(f"a full-text query has at most {MAX_QUERY_CHARACTERS} characters")
        return self.tokens(operand)

    def _words(self, text: str) -> list[str]:
        pieces = _BOUNDARY.split(text)
        words = [p for p in pieces if len(p) <= self.max_token_length and _WORD.search(p)]
        return words if self.case_sensitive else [word.lower() for word in words]


def full_text(
    name: str, attribute_type: AttributeType, declared: dict[str, Any], current: FullText | None
) -> FullText:
    """Settings from a declaration, over the ``current`` ones; 400 for what is not allowed."""
    if attribute_type.kind is not Kind.STRING:
        raise invalid(f"attribute {name!r}: full-text search needs string or []string")
    if declared.get("tokenizer") == "pre_tokenized_array":
        declared = {"case_sensitive": True} | declared
    settings = FullText.model_validate((current.model_dump() if current else {}) | declared)
    for option in ("stemming", "remove_stopwords", "ascii_folding"):
        if getattr(settings, option):
            raise unsupported(f"full-text option {option}")
    if settings.language != "english":
        raise unsupported(f"full-text language {settings.language}")
    if settings.pre_tokenized:
        if not attribute_type.is_array:
            raise invalid(f"attribute {name!r}: pre_tokenized_array needs []string")
        if not settings.case_sensitive or "language" in declared:
            raise invalid(f"attribute {name!r}: pre_tokenized_array takes no text analysis options")
    return settings
