"""The project that ``make serve`` works in, and its key, which the state folder remembers.

By the use cases themselves and not over HTTP: both have to be there before the first request.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from context_search.access.authenticate import KeyAuthenticator
from context_search.access.keys import KeyOptions, ManageKeys, NewKey, page_of_keys
from context_search.catalog.tables import ManageTables
from context_search.core.callers import Operator
from context_search.core.errors import NotFoundError, UnauthenticatedError
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from context_search.store import PostgresStore, Store
from local.state import read_json, write_private

Remembered = dict[str, Any]


def default_project(database_url: str, remembered: Path) -> Remembered:
    """``{project_id, api_key}``: the first remembered one that this database has, else a new one.

    A project whose key was rotated or revoked gets another key. A key is never forgotten for
    another reason, as the database that knows it may come back: those that are not in use stay
    below ``earlier``.
    """
    kept = read_json(remembered) or {}
    earlier = kept.pop("earlier", [])
    known = [kept, *earlier] if kept else earlier
    with closing(Database(DatabaseUrl.parse(database_url))) as database:
        store = PostgresStore(database)
        project, replaced = _found(store, known) or (_made(store, known, remembered.name), None)
    if project is not kept:
        others = [each for each in known if each is not project and each is not replaced]
        write_private(remembered, {**project, "earlier": others} if others else project)
    return project


def _found(
    store: Store, known: Sequence[Remembered]
) -> tuple[Remembered, Remembered | None] | None:
    """The project to go on with, and the remembered one whose key has ended that it stands for."""
    for each in known:
        if _is_valid(store, each["api_key"]):
            return each, None
    for each in known:
        if (key := _another_key(store, each)) is not None:
            project_id = each["project_id"]
            print(f"the remembered key is good no more: made another for project {project_id}")
            return {"project_id": project_id, "api_key": key}, each
    return None


def _made(store: Store, known: Sequence[Remembered], file_name: str) -> Remembered:
    created, key = ManageTables(store).create_project("default")
    if known:
        print(
            "the remembered key is not known to this database: made project"
            f" {created.id}; it stays in {file_name}"
        )
    return {"project_id": created.id, "api_key": key.text}


def _is_valid(store: Store, api_key: str) -> bool:
    try:
        KeyAuthenticator(store).caller_of(api_key)
    except UnauthenticatedError:
        return False
    return True


def _another_key(store: Store, ended: Remembered) -> str | None:
    """A new key in the place of one that was the project's; None where it never was.

    Another database may have a project of that number, which is somebody else's.
    """
    owner = Operator(ended["project_id"])
    prefix = NewKey(ended["api_key"]).prefix
    after: int | None = 0
    while after is not None:
        with store.for_project(owner.project_id) as work:
            page = page_of_keys(work, owner, None, after=after, kind="standard")
        if any(key.prefix == prefix for key in page.rows):
            try:
                return ManageKeys(store).create(owner, None, KeyOptions()).text
            except NotFoundError:  # the project was deleted
                return None
        after = page.next_after
    return None
