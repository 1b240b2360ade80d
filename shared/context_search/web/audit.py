"""Lines that say who made, changed, rotated, revoked or deleted something: ids only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from aws_lambda_powertools import Logger
from fastapi import Depends, Request

from context_search.core.callers import Principal
from context_search.web.request_body import request_id


@dataclass(frozen=True, slots=True)
class Audit:
    """Writes to the log of the function that serves the request."""

    log: Logger

    def report(self, action: str, caller: Principal, target_id: int | str) -> None:
        """Writes what a caller did to which id. ``target_id`` may be an actor, too."""
        self.log.info(
            "audited",
            extra={
                "request_id": request_id(),
                "project_id": caller.project_id,
                "actor": caller.actor,
                "action": action,
                "target_id": target_id,
            },
        )


async def _audit(request: Request) -> Audit:
    return Audit(request.app.state.log)


Audited = Annotated[Audit, Depends(_audit)]
