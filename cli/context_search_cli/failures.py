"""Why a command ends without having done what it was told, and with which exit code."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Any

_ADVICE = {"PROJECT_INDEX_OFF": "switch it on: context-search project-index on --wait"}
"""What to do here about some refusals."""
_PLACES = 10


class Code(IntEnum):
    """What a shell sees. 130 is not among them: a command that Ctrl-C has ended."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    UNAVAILABLE = 5
    NOT_ALLOWED = 6


class CommandError(Exception):
    """Ends a command. ``document`` is what ``--json`` says of it; the text is for people."""

    def __init__(self, message: str, ends_with: Code = Code.FAILED, /, **document: Any) -> None:
        super().__init__(message)
        self.ends_with = ends_with
        self.document = {"detail": message} | document

    @property
    def reported(self) -> dict[str, Any]:
        """What stands below ``error`` in JSON."""
        return self.document | {"exit": int(self.ends_with)}

    def advise(self, text: str) -> None:
        """Lets the failure also say what to do."""
        self.args = (f"{self}\n  {text}",)
        self.document["advice"] = text


class UsageError(CommandError):
    """The command line, or what it names on this machine, is not as the command needs it."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Code.USAGE, code="USAGE")


class EndedError(CommandError):
    """What the command printed has said it all; only the exit code is left to tell."""

    def __init__(self, code: Code) -> None:
        super().__init__("", code)


class ProblemError(CommandError):
    """The server's refusal: an RFC 9457 problem, or what a gateway in front of it says."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.problem = problem
        name = str(problem.get("code") or f"HTTP_{status}")
        detail = problem.get("detail") or problem.get("message") or problem.get("title")
        if status == 404 and "code" not in problem:
            detail = "the server has no such route: is it of another release?"
        message = f"{name}: {detail or 'no reason given'}"
        errors = problem.get("errors")
        for error in errors if isinstance(errors, list) else []:
            if not isinstance(error, dict):  # a gateway's own
                message += f"\n  {error}"
                continue
            reported = f"{error.get('field')}: {error.get('message')}"
            message += "" if reported == detail else f"\n  {reported}"
        message += "".join(f"\n  {place}" for place in _in_the_way(problem))
        if problem.get("requestId"):
            message += f"\n  request {problem['requestId']}"
        super().__init__(message, _code_of(status, is_retryable=self.is_retryable), **problem)
        self.document |= {"status": status, "code": name}
        if name in _ADVICE:
            self.advise(_ADVICE[name])

    @property
    def is_retryable(self) -> bool:
        """Whether the same call may succeed later: what the problem says, else by the status."""
        said = self.problem.get("retryable")
        return said if isinstance(said, bool) else self.status in {429, 502, 503, 504}


def _in_the_way(problem: dict[str, Any]) -> Iterator[str]:
    """The first strings that are not as a replacement, or an undo, needs them."""
    changed = problem.get("changed")
    rows = changed if isinstance(changed, list) else []
    for row in rows[:_PLACES]:
        if isinstance(row, dict):
            place = f"table {row.get('table_id')} {row.get('json_pointer')}"
            moved = f" to {row['moved_to']}" if row.get("moved_to") else ""
            yield f"{place}: {row.get('reason')}{moved}"
    if len(rows) > _PLACES:
        yield "and more"


class UnreachableError(CommandError):
    """No answer: no connection, a broken one, or none in time."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Code.UNAVAILABLE, code="UNREACHABLE", retryable=True)


def _code_of(status: int, *, is_retryable: bool) -> Code:
    if is_retryable:
        return Code.UNAVAILABLE
    by_status = {
        401: Code.NOT_ALLOWED,
        403: Code.NOT_ALLOWED,
        404: Code.NOT_FOUND,
        409: Code.CONFLICT,
        412: Code.CONFLICT,
    }
    return by_status.get(status, Code.FAILED)
