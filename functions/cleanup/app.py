"""The schedule: relays, revives, deletes for good, and looks for what nobody knows."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import Any

from context_search.composition.cleanup import CleanupFunction
from context_search.composition.parts import parts
from context_search.maintenance.scheduled_cleanup import ScheduledCleanup
from context_search.web.logs import function_logger
from context_search.web.metrics import CLEANUP, emit_billed, emit_cleanup

logger = function_logger("cleanup")


@cache
def _scheduled_cleanup() -> ScheduledCleanup:
    return CleanupFunction(parts()).scheduled_cleanup


@logger.inject_lambda_context(clear_state=True)
def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Runs once and returns what it did. Only a run of the schedule may rest."""
    may_idle = "scheduled_time" in event
    try:
        report = _scheduled_cleanup().run(parts().deadline(context), may_idle=may_idle)
    finally:
        emit_billed(CLEANUP, parts().meter.take())
    if report.is_resting:
        logger.info("resting", extra={"rests_s": round(report.rests_s)})
    else:
        logger.info("cleanup", extra={"report": asdict(report)})
        emit_cleanup(report)
    return asdict(report)
