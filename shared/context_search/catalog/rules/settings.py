"""Settings of a project, of several kinds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Generic, Self, TypeVar


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one kind: a dataclass whose fields have defaults, stored as a JSON object."""

    KIND: ClassVar[str]

    def to_json(self) -> str:
        """Returns the canonical JSON text."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """Returns the settings of a stored JSON object; what is missing keeps its default.

        What only a later release knows is left out.
        """
        known = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})


S = TypeVar("S", bound=Settings)


@dataclass(frozen=True, slots=True)
class StoredSettings(Generic[S]):
    """Settings with the number of changes so far; 0 are the defaults."""

    version: int
    settings: S
