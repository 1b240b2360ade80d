"""A program: builds every part of a function in one environment after the other.

Takes a JSON list of environments on standard input, and becomes each of them in turn, because
libraries read the environment too. Prints a list of objects: part → what building it raised.
"""

from __future__ import annotations

import json
import os
import sys
from functools import cached_property
from operator import attrgetter

from context_search.composition.access import Access
from context_search.composition.parts import Parts, parts
from context_search.composition.searching import Searching
from context_search.core.config import IndexConfig
from testing.use_cases import EveryUseCase

KINDS = (property, cached_property)
ROOMS = {"": EveryUseCase, "access.": Access, "parts.": Parts, "searching.": Searching}


def building(name: str) -> str | None:
    """What it raises, or None."""
    made = EveryUseCase(parts())
    model = made.parts.settings
    try:
        if name == "embedder_of":
            config = IndexConfig(model.embedding_model, model.embedding_dimensions)
            made.parts.embedder_of(config).warm_up()
        elif name == "tokens":
            tokens = made.access.bearers.tokens
            _ = tokens and tokens.tokens()
        elif name == "replace_tools":
            made.replace_tools()
        else:
            attrgetter(name)(made)
    except Exception as error:  # noqa: BLE001 - this is what is looked for
        return f"{type(error).__name__}: {error}"
    return None


def built_by(kind: type) -> list[str]:
    """The parts that a class makes."""
    return [name for name in dir(kind) if isinstance(getattr(kind, name), KINDS)]


def failures(environment: dict[str, str]) -> dict[str, str]:
    """Everything that cannot be built."""
    os.environ.clear()  # noqa: TID251 - what libraries see
    os.environ.update(environment)  # noqa: TID251
    parts.cache_clear()
    try:
        parts()
    except Exception as error:  # noqa: BLE001
        return {"parts": f"{type(error).__name__}: {error}"}
    every = {f"{room}{name}" for room, kind in ROOMS.items() for name in built_by(kind)}
    every |= {"embedder_of", "replace_tools", "tokens"}
    reported = {name: building(name) for name in sorted(every)}
    return {name: error for name, error in reported.items() if error is not None}


if __name__ == "__main__":
    print(json.dumps([failures(each) for each in json.load(sys.stdin)]))  # noqa: T201
