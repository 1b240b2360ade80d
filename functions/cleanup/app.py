"""The schedule: relays, revives, deletes for good, and looks for what nobody knows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from context_search.bootstrap import parts
from context_search.web.logs import function_logger
from context_search.web.metrics import CLEANUP, emit_billed, emit_cleanup

logger = function_logger("cleanup")


@logger.inject_lambda_context(clear_state=True)
def lambda_handler(_event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Runs once and returns what it did."""
    try:
        report = parts().cleanup.run(parts().deadline(context))
    finally:
        emit_billed(CLEANUP, parts().meter.take())
    logger.info("cleanup", extra={"report": asdict(report)})
    emit_cleanup(report)
    return asdict(report)
