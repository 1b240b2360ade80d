"""A switch that makes the local embedding provider fail the way real providers do."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

FaultKind = Literal[
    "slow",
    "throttled",
    "unavailable",
    "rejected",
    "short",
    "reordered",
    "wrong_dimension",
    "not_finite",
]


class ProviderError(Exception):
    """What a provider answers instead of vectors; litellm maps it by status and headers."""

    def __init__(
        self, status_code: int, message: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.message = message
        self.headers = headers


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to fail; ``seconds`` is the delay of ``slow`` and the retry-after of ``throttled``.

    ``slow`` answers late, or with a timeout when the caller's is shorter. ``short`` leaves the
    last vector out, ``reordered`` sends them backwards with right indexes.
    """

    kind: FaultKind
    seconds: float = 0.0


class FaultSwitch:
    """The fault that is on now, kept in a file so that another process can turn it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def turn_on(self, fault: Fault) -> None:
        """Every call from now on fails like this."""
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(fault)))
        fresh.replace(self._path)

    def turn_off(self) -> None:
        """The provider is healthy again."""
        self._path.unlink(missing_ok=True)

    def current(self) -> Fault | None:
        """The fault that is on, if any."""
        try:
            return Fault(**json.loads(self._path.read_text()))
        except FileNotFoundError:
            return None


def before_reply(fault: Fault, timeout_s: float | None) -> None:
    """Wait or raise ProviderError as ``fault`` says."""
    match fault.kind:
        case "slow":
            patience = math.inf if timeout_s is None else timeout_s
            time.sleep(min(fault.seconds, patience))
            if fault.seconds >= patience:
                raise ProviderError(408, "no answer in time")
        case "throttled":
            raise ProviderError(429, "too many requests", {"retry-after": str(fault.seconds)})
        case "unavailable":
            raise ProviderError(503, "down")
        case "rejected":
            raise ProviderError(400, "refused")


def spoil(items: list[dict[str, object]], fault: Fault) -> list[dict[str, object]]:
    """The reply's items as ``fault`` makes them."""
    match fault.kind:
        case "short":
            return items[:-1]
        case "reordered":
            return items[::-1]
        case "wrong_dimension":
            return [item | {"embedding": [0.5, 0.5, 0.5]} for item in items]
        case "not_finite":
            return [item | {"embedding": [math.nan] * 512} for item in items]
        case _:
            return items
