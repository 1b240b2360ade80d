"""Random strings; each long one holds words that are nowhere else."""

from __future__ import annotations

import random
import re
import string

from tests.builders import chinese, english

MARKER = re.compile(r"mk[a-z]{12}qz")
THRESHOLD = 10_000


class Texts:
    """Strings of a run. A marker is one word for every analyser, and found by exactly its text."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw

    def marker(self) -> str:
        """A word that was never drawn before."""
        return "mk" + "".join(self.draw.choices(string.ascii_lowercase, k=12)) + "qz"

    def sentence(self) -> str:
        """A paragraph with a marker."""
        return f"\n\nThe {self.marker()} of the {self.draw.randint(0, 99_999)} harbours.\n\n"

    def long(self) -> str:
        """A string over the threshold."""
        length = self.draw.choice([THRESHOLD, 12_000, 20_000, 45_000])
        make = self.draw.choice([english, english, chinese])
        return self.with_sentence(make(length, self.draw.randrange(10**6)))

    def short(self) -> str:
        """A string below the threshold, with a marker that nothing may find."""
        return english(self.draw.randint(10, 9_000), self.draw.randrange(10**6)) + self.sentence()

    def with_sentence(self, text: str) -> str:
        """``text`` with a paragraph more, somewhere."""
        at = self.draw.randrange(len(text) + 1)
        return text[:at] + self.sentence() + text[at:]

    def document(self) -> dict[str, object]:
        """A document with a few long strings at different depths, and short ones."""
        return {
            "title": "endurance",
            "long": [self.long() for _ in range(self.draw.randint(1, 3))],
            "part": {"a/b~": self.long(), "notes": self.short(), "书": self.long()},
        }
