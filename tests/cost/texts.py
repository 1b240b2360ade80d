"""Real prose in two languages, with edits and questions."""

from __future__ import annotations

from functools import lru_cache
from pydoc_data.topics import topics

from local.options import ROOT

QUESTIONS = {
    "en": "How are exceptions handled where the name of number {} is looked up?",
    "zh": "表格里的数据改了第{}次以后,索引多久会跟上?",
}
_ENDS = {"en": ". ", "zh": "。"}
_EDITS = {"en": " This sentence is new, and number {}. ", "zh": "这是新加的第{}句话。"}


@lru_cache(maxsize=2)
def corpus(language: str) -> str:
    """Real prose: the reference of Python, or our handbook."""
    if language == "en":
        return "\n\n".join(sorted(set(topics.values())))
    return (ROOT / "docs/zh/handbook.md").read_text("utf-8")


def edited(text: str, language: str, place: int, number: int) -> str:
    """The text with a sentence more, behind the one that ends before ``place``."""
    behind = max(0, text.rfind(_ENDS[language], 0, place)) + 1
    return text[:behind] + _EDITS[language].format(number) + text[behind:]
