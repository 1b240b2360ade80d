"""EventBridge Scheduler of the local stack: one thread, so schedules never overlap.

The period is the local stack's own, not the template's: a developer does not wait minutes.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

from local.invocation import ACCOUNT, REGION

if TYPE_CHECKING:
    from collections.abc import Iterable

    from local.invocation import LambdaFunction
    from local.template import ScheduleSpec

_STOP_DEADLINE_S = 5

logger = logging.getLogger(__name__)


def scheduled_event(schedule: ScheduleSpec) -> dict[str, Any]:
    """What the scheduler sends: its ``Input``, or the default event for a target without one.

    https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html
    """
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    arn = f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/{schedule.name}"
    if schedule.payload is not None:
        text = schedule.payload
        for name, value in {
            "scheduled-time": now,
            "schedule-arn": arn,
            "execution-id": uuid.uuid4().hex,
            "attempt-number": "1",
        }.items():
            text = text.replace(f"<aws.scheduler.{name}>", value)
        event: dict[str, Any] = json.loads(text)
        return event
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.scheduler",
        "account": ACCOUNT,
        "time": now,
        "region": REGION,
        "resources": [arn],
        "detail": "{}",
    }


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
