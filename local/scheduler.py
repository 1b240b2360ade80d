"""EventBridge Scheduler of the local stack: one thread, so schedules never overlap.

The period is the local stack's own, not the template's: a developer does not wait minutes.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterable
from typing import Any

from local.invocation import ACCOUNT, REGION, LambdaFunction
from local.template import ScheduleSpec

_STOP_DEADLINE_S = 5

logger = logging.getLogger(__name__)


def scheduled_event(schedule: ScheduleSpec) -> Any:
    """What the scheduler sends: its ``Input`` with the words of its context put in.

    https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html
    """
    context = {
        "scheduled-time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "schedule-arn": f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/{schedule.name}",
    }
    text = schedule.payload
    for name, value in context.items():
        text = text.replace(f"<aws.scheduler.{name}>", value)
    return json.loads(text)


class Scheduler:
    """Invokes every function that has a schedule, every ``every_s`` seconds after the last run."""

    def __init__(self, functions: Iterable[LambdaFunction], every_s: float) -> None:
        self._entries = [(f, schedule) for f in functions for schedule in f.spec.schedules]
        self._every_s = every_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="scheduler", daemon=True)

    def __enter__(self) -> Scheduler:
        """Start; the first run comes after one period."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop; waits up to 5 seconds for a run that is under way."""
        self._stopping.set()
        self._thread.join(_STOP_DEADLINE_S)

    def _work(self) -> None:
        while not self._stopping.wait(self._every_s):
            for function, schedule in self._entries:
                try:
                    function.invoke(scheduled_event(schedule))
                except Exception:
                    logger.exception("schedule %s failed", schedule.name)
