"""Whether two versions understand each other's messages and events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.upgrade.shared_parts import WAITING, SharedParts
from tests.upgrade.versions import UpgradeError, Version

_RECORDED = "tests/core/recorded_messages.json"
_EVENTS = ("create_tool", "search", "mcp", "index_node", "cleanup")


def recorded(version: Version) -> list[dict[str, Any]]:
    """The messages that a version sends, as its tests have recorded them."""
    messages: list[dict[str, Any]] = version.json(_RECORDED)["this release"]
    return messages


def misread(read: list[Any], sent: list[Any], later: list[Any], kinds: list[Any]) -> Iterator[str]:
    """What was not understood: messages, those with a field more, those of unknown kinds."""
    plain, more, unknown = (
        read[: len(sent)],
        read[len(sent) : len(sent) + len(later)],
        read[-len(kinds) :],
    )
    for message, understood in zip(sent, plain, strict=True):
        if understood is not None and understood != message:
            yield f"{message} is read as {understood!r}"
        if understood is None and message["kind"] not in WAITING:
            yield f"{message} is left to a later release: its reader has to be deployed first"
    for message, understood, with_more in zip(later, plain, more, strict=True):
        if with_more != understood:
            yield f"{message} is read as {with_more!r}, without the field as {understood!r}"
    for message, understood in zip(kinds, unknown, strict=True):
        if understood is not None:
            yield f"{message}, of an unknown kind, is read as {understood!r}"


def check_record(version: Version, release: Version) -> None:
    """Raises UpgradeError unless a version's tests have what a release sends, under its name."""
    if version.json(_RECORDED).get(release.name) != recorded(release):
        raise UpgradeError(f"{_RECORDED} does not have under {release.name} what that sends")


def answered_alike(shared: SharedParts) -> int:
    """How many answers to recorded events agree. Raises UpgradeError for those that do not."""
    asked = 0
    for path in (f"events/{name}.json" for name in _EVENTS):
        function = "search" if "mcp" in path else path.removeprefix("events/").split(".")[0]
        for version in shared.versions:
            recorded_event = version.json(path)
            answers = {
                who.name: _shape(functions[function].invoke(recorded_event))
                for who, functions in shared.versions.items()
            }
            asked += len(answers)
            if len(set(answers.values())) > 1:
                raise UpgradeError(f"{path} of {version.name}: {answers}")
    return asked


def _shape(answer: Any) -> str:
    """What two versions' answers to one event have in common: status, or failed items."""
    if "statusCode" in answer:
        return f"status {answer['statusCode']}"
    if "batchItemFailures" in answer:
        return f"{len(answer['batchItemFailures'])} failures"
    return f"errors {answer['errors']}"
