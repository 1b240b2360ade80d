"""Whose credentials these are, and what the caller's project has switched on."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.core.callers import ApiKey, KeyOwner, Principal, ProjectKey
from context_search.store import Store


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller with the name of its project; ``key`` None: a token.

    ``has_project_index``: the whole project can be searched.
    """

    caller: Principal
    project_name: str | None
    key: ApiKey | None
    has_project_index: bool


@dataclass(frozen=True, slots=True)
class WhoAmI:
    """Tells callers who they are."""

    store: Store

    def report(self, caller: Principal) -> Identity:
        """Returns who is calling."""
        with self.store.for_project(caller.project_id) as work:
            name = work.projects.name(caller.project_id)
            key = None
            if isinstance(caller, ProjectKey) and caller.key_id is not None:
                key = work.keys.find(KeyOwner(caller.project_id), caller.key_id)
            index = work.indexes.of_project(caller.project_id)
        return Identity(caller, name, key, index is not None)
