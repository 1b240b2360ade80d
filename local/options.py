"""How a stack runs, and what it tells the process that runs the functions."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_WORKERS = 4
DEFAULT_SCHEDULE_EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class StackOptions:
    """``port`` 0: any free one. ``workers``: queue batches worked on at a time."""

    port: int = 0
    template: Path = ROOT / "template.yaml"
    workers: int = DEFAULT_WORKERS
    schedule_every_s: float = DEFAULT_SCHEDULE_EVERY_S


@dataclass(frozen=True, slots=True)
class RunnerOptions:
    """The runner's one argument, as JSON.

    ``listener_fd`` is the HTTP socket, ``ready_fd`` the pipe that gets a line when it serves.
    ``hosts`` are the names that requests may come by. ``emulator_url`` None: SQS is AWS itself.
    ``local_model``: load the shipped model.
    """

    template: str
    listener_fd: int
    hosts: tuple[str, ...]
    ready_fd: int
    queue_url: str
    emulator_url: str | None
    local_model: bool
    workers: int
    schedule_every_s: float

    def dump(self) -> str:
        """The JSON text that ``load`` takes."""
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> Self:
        """Read ``dump``'s text."""
        return cls(**json.loads(text))
