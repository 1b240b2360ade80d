"""Faults on purpose, so that callers can test what they do when the service fails.

``POST /_admin/faults`` arms one, ``GET`` lists those with a count left, ``DELETE`` clears them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from local.turbopuffer.bodies import Strict
from local.turbopuffer.errors import ApiError

Kind = Literal["429", "409", "503", "drop", "drop_after", "slow"]
Operation = Literal["write", "query", "other"]
_STATUSES: dict[Kind, tuple[int, str]] = {
    "429": (429, "too many requests"),
    "409": (409, "index still building"),
    "503": (503, "service unavailable"),
}


class Fault(Strict):
    """A fault for the next ``count`` requests that it fits.

    ``429``, ``409``, ``503``: that answer, with ``retry-after: {retry_after}`` (seconds) if set.
    ``drop``: the connection breaks before anything is done. ``drop_after``: after it was done.
    ``slow``: the request takes ``delay_ms`` longer, a query holding its slots.
    """

    kind: Kind
    count: int = Field(default=1, ge=1)
    namespace: str | None = None
    on: Literal["write", "query", "any"] = "any"
    delay_ms: int = Field(default=0, ge=0)
    retry_after: float | None = None

    def fits(self, kinds: Iterable[Kind], operation: Operation, namespace: str | None) -> bool:
        """Whether it strikes this request."""
        return (
            self.kind in kinds
            and self.on in ("any", operation)
            and self.namespace in (None, namespace)
        )


class DroppedError(Exception):
    """The connection is to be closed without an answer."""


class FaultBoard:
    """The armed faults, oldest first. For one event loop."""

    def __init__(self) -> None:
        self._armed: list[Fault] = []

    def arm(self, fault: Fault) -> None:
        """Add a fault."""
        self._armed.append(fault)

    def clear(self) -> None:
        """Remove all faults."""
        self._armed.clear()

    def view(self) -> list[dict[str, Any]]:
        """The faults with what is left of their counts."""
        return [fault.model_dump() for fault in self._armed]

    def take(
        self, kinds: Iterable[Kind], operation: Operation, namespace: str | None
    ) -> Fault | None:
        """The first fault that fits, counted down."""
        for fault in self._armed:
            if fault.fits(kinds, operation, namespace):
                fault.count -= 1
                if not fault.count:
                    self._armed.remove(fault)
                return fault
        return None

    def strike(self, operation: Operation, namespace: str | None) -> None:
        """Raise the failure that is armed for this request, if any."""
        fault = self.take(("drop", *_STATUSES), operation, namespace)
        if fault is None:
            return
        if fault.kind == "drop":
            raise DroppedError
        status, message = _STATUSES[fault.kind]
        headers = {} if fault.retry_after is None else {"retry-after": f"{fault.retry_after:g}"}
        raise ApiError(status, message, headers)

    def delay_s(self, operation: Operation, namespace: str | None) -> float:
        """Seconds that this request is to take longer."""
        fault = self.take(("slow",), operation, namespace)
        return fault.delay_ms / 1000 if fault else 0.0
