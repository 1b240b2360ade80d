"""What a text costs a language model."""

from __future__ import annotations

from typing import Protocol


class TokenCounter(Protocol):
    """A tokenizer that only counts."""

    @property
    def name(self) -> str:
        """The name under which its vocabulary is known."""
        ...

    def count(self, text: str) -> int:
        """Returns the tokens of ``text``; special tokens in it count as the text that they are."""
        ...
