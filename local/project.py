"""The project a fresh local stack begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_search.adapters.postgres.pool import Database
from context_search.adapters.postgres.store import PostgresStore
from context_search.adapters.postgres.url import DatabaseUrl
from context_search.domain.errors import UnauthenticatedError
from context_search.services.access.authenticate import Authenticate
from context_search.services.catalog.tables import CreateProject
from local.state import read_json, write_private

if TYPE_CHECKING:
    from pathlib import Path


def default_project(database_url: str, remembered: Path) -> dict[str, Any]:
    """``{project_id, api_key}`` of the default project, created unless ``remembered`` still holds.

    By the use case itself and not over HTTP: it has to be there before the first request.
    """
    database = Database(DatabaseUrl.parse(database_url))
    try:
        store = PostgresStore(database)
        known = read_json(remembered)
        if known and _is_valid(store, known["api_key"]):
            return known
        created, key = CreateProject(store)("default")
        project = {"project_id": created.id, "api_key": key.text}
        write_private(remembered, project)
        return project
    finally:
        database.close()


def _is_valid(store: PostgresStore, api_key: str) -> bool:
    try:
        Authenticate(store)(api_key)
    except UnauthenticatedError:
        return False
    return True
