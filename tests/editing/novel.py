"""A novel whose warehouse is to be a factory, and how previews of it are asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from context_search_editing.previewing import AskedReplacement
from context_search_editing.rules.replacing import ReplaceRequest
from testing.in_memory.clock import ManualClock

WAREHOUSE, FACTORY = "废弃仓库", "荒废工厂"
NOVEL: Sequence[Any] = (
    {"title": "第一章", "text": "他走进了废弃仓库，满地灰尘。废弃仓库很大。"},
    {"title": "第二章", "scenes": ["废弃仓库的门", "码头", "离开废弃仓库，回到废弃仓库"]},
    {"title": "第三章", "text": "车站", "废弃仓库": {"note": "又是废弃仓库。废弃仓库！"}},
    {"title": "第四章", "text": "仓库，废弃的", "pages": 7},
)
"""Three documents with seven places; a key is none."""


class TickingClock(ManualClock):
    """Time passes whenever somebody looks."""

    def __init__(self, step_s: float) -> None:
        super().__init__()
        self._step_s = step_s

    def monotonic(self) -> float:
        self.advance(self._step_s)
        return super().monotonic()


def asked_for(find: str, replace_with: str = "×", **asked: Any) -> AskedReplacement:
    """A replacement; options of the request and of what is asked together."""
    of_request = ("case_sensitive", "whole_word", "regex", "whole_characters")
    options = {name: asked.pop(name) for name in of_request if name in asked}
    return AskedReplacement(ReplaceRequest(find, replace_with, **options), **asked)


def hashed(text: str) -> str:
    """16 hex digits, as logs have them."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
