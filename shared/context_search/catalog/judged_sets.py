"""Judged sets of a project: found, written, deleted by its owner."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.catalog.rules.judged_sets import MAX_SETS, JudgedSet, count_questions
from context_search.core.callers import Principal
from context_search.core.errors import ConflictError, NotFoundError, TooManyJudgedSetsError
from context_search.store import Store, UnitOfWork


@dataclass(frozen=True, slots=True)
class ManageJudgedSets:
    """The judged sets of the caller's project."""

    store: Store

    def write(
        self, principal: Principal, name: str, lines: str, *, if_version: int | None
    ) -> tuple[JudgedSet, bool]:
        """Returns the set as it is written, and whether it is a new one.

        Version 0 is that of a set that is not there. Raises InvalidInputError for a line that is no
        question, PayloadTooLargeError, ConflictError when the set has another version, and
        TooManyJudgedSetsError.
        """
        questions, project_id = count_questions(lines), principal.project_id
        with self.store.for_project(project_id) as work:
            if not work.projects.lock(project_id):  # one after another: they are counted
                raise NotFoundError("there is no such project")
            before = work.judged_sets.find(project_id, name)
            _check_version(before, if_version)
            if before is None and len(work.judged_sets.of_project(project_id)) >= MAX_SETS:
                raise TooManyJudgedSetsError(f"a project may have {MAX_SETS} judged sets")
            written = work.judged_sets.write(project_id, name, lines, questions=questions)
        return written, before is None

    def remove(self, principal: Principal, name: str, *, if_version: int | None) -> None:
        """Raises NotFoundError, and ConflictError when the set has another version."""
        with self.store.for_project(principal.project_id) as work:
            work.projects.lock(principal.project_id)
            _check_version(find_set(work, principal, name), if_version)
            work.judged_sets.remove(principal.project_id, name)


def find_set(work: UnitOfWork, principal: Principal, name: str) -> JudgedSet:
    """Returns a set with its lines. Raises NotFoundError."""
    found = work.judged_sets.find(principal.project_id, name)
    if found is None:
        raise NotFoundError("there is no such judged set")
    return found


def _check_version(found: JudgedSet | None, if_version: int | None) -> None:
    version = 0 if found is None else found.version
    if if_version not in (None, version):
        raise ConflictError("the judged set has another version by now")
