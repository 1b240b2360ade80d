"""What a match of a regular expression becomes: text with groups of the match in it.

``$0`` to ``$9``, ``${12}``, ``${name}`` and ``$$``. What could be meant in two ways is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from context_search.core.errors import ReplacementInvalidError
from context_search.text.pattern_matches import Spans

_DOLLAR = re.compile(r"\$(?:(\$)|([0-9])(?![0-9])|\{([^{}$]*)\})?")


@dataclass(frozen=True, slots=True)
class Template:
    """A replacement that was read: literal parts, and between them places in ``groups``.

    ``groups``: the numbers of groups that a match has to come with, ascending, without 0.
    A part that is a number is the place of a span in ``Spans``: 0 is the whole match.
    """

    parts: tuple[str | int, ...]
    groups: tuple[int, ...]

    @classmethod
    def read(cls, text: str, *, groups: int, names: Mapping[str, int]) -> Template:
        """Returns the template of a pattern with so many groups, some of which have names.

        Raises ReplacementInvalidError, with the place of the ``$`` that has no meaning.
        """
        parts = list(_parts(text, groups, names))
        wanted = sorted({part for part in parts if isinstance(part, int)} - {0})
        places = {0: 0} | {group: place for place, group in enumerate(wanted, start=1)}
        return cls(
            tuple(places[part] if isinstance(part, int) else part for part in parts if part != ""),
            tuple(wanted),
        )

    def length(self, spans: Spans) -> int:
        """Returns how many characters ``expand`` gives, before any of them is made."""
        return sum(
            len(part) if isinstance(part, str) else spans[2 * part + 1] - spans[2 * part]
            for part in self.parts
        )

    def expand(self, text: str, spans: Spans) -> str:
        """Returns what the match at ``spans`` of ``text`` becomes; absent groups are empty."""
        return "".join(
            part if isinstance(part, str) else text[spans[2 * part] : spans[2 * part + 1]]
            for part in self.parts
        )


def _parts(text: str, groups: int, names: Mapping[str, int]) -> Iterator[str | int]:
    """Yields texts and numbers of groups."""
    done = 0
    for dollar in _DOLLAR.finditer(text):
        yield text[done : dollar.start()]
        done = dollar.end()
        escaped, digit, name = dollar.groups()
        if escaped:
            yield "$"
            continue
        group = _group(digit if name is None else name, groups, names)
        if group is None:
            raise ReplacementInvalidError(
                f"the $ at position {dollar.start()} of replace_with names no group of the "
                "pattern; write $$ for a dollar sign, ${12} for groups above 9"
            )
        yield group
    yield text[done:]


def _group(name: str | None, groups: int, names: Mapping[str, int]) -> int | None:
    if name is None:
        return None
    if re.fullmatch("0|[1-9][0-9]?", name, re.ASCII):
        return int(name) if int(name) <= groups else None
    return names.get(name)
