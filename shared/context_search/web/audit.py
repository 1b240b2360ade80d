"""Lines that say who made, rotated, revoked or deleted something: ids only."""

from __future__ import annotations

from aws_lambda_powertools import Logger

from context_search.web.border import request_id

_log = Logger(service="create_tool", child=True)


def tell_done(action: str, project_id: int, actor: str | None, target_id: int | str) -> None:
    """Writes what was done to which id. ``actor``: as in the versions of documents.

    ``target_id`` may be an actor, too.
    """
    _log.info(
        "audited",
        extra={
            "request_id": request_id(),
            "project_id": project_id,
            "actor": actor,
            "action": action,
            "target_id": target_id,
        },
    )
