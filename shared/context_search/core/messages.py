"""Messages of the queue. They hold ids only and describe a wanted state.

Messages outlive a release. A message of the release before is understood. Fields that only a later
release knows are ignored, and kinds that only it knows are left to it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context_search.core.errors import InvalidInputError

MESSAGE_ID = "order"
"""The name under which a message carries its id in the outbox."""
MOST_NODES = 1_000
"""Maximum number of nodes in one message."""
SMALL_STRING = 9_999
"""Maximum length in characters of a string that may be indexed together with others."""
NODES_PER_MESSAGE = 500
MESSAGE_CHARS = 100_000
"""Maximum number of small strings in one message, and of their characters."""
FEW_NODES = 50
MOST_SHARED = 200
"""Maximum number of nodes in a message that takes others along, and of messages looked at for
that."""
LONG_STRING = 1_000_000
"""Length of a string, in characters, from which its message is long: it keeps a worker busy."""
LONGEST_PAUSE_S = 86_400.0
_MOST_DOUBLINGS = 20
_IDS = range(1, 2**63)


@dataclass(frozen=True, slots=True)
class IndexNodes:
    """Index one big string, or several small ones."""

    node_ids: tuple[int, ...]

    def to_json(self) -> dict[str, object]:
        """Returns the message."""
        if len(self.node_ids) == 1:
            return {"kind": "node", "node_id": self.node_ids[0]}
        return {"kind": "nodes", "node_ids": list(self.node_ids)}


@dataclass(frozen=True, slots=True)
class CompareIndex:
    """Compare an index with the document of a table, or with whatever it needs."""

    index_id: int
    table_id: int | None = None

    def to_json(self) -> dict[str, object]:
        """Returns the message."""
        of_table = {} if self.table_id is None else {"table_id": self.table_id}
        return {"kind": "enumerate", "index_id": self.index_id, **of_table}


@dataclass(frozen=True, slots=True)
class ImportUpload:
    """Import an uploaded document."""

    upload_id: int

    def to_json(self) -> dict[str, object]:
        """Returns the message."""
        return {"kind": "import", "upload_id": self.upload_id}


@dataclass(frozen=True, slots=True)
class ExecutePlan:
    """Go on with a plan: preview it, or execute it, as its state says."""

    plan_id: int

    def to_json(self) -> dict[str, object]:
        """Returns the message."""
        return {"kind": "plan", "plan_id": self.plan_id}


@dataclass(frozen=True, slots=True)
class CalibrateIndex:
    """Calibrate a generation of an index, unless that is done already."""

    index_id: int
    generation_id: int

    def to_json(self) -> dict[str, object]:
        """Returns the message."""
        ids = {"index_id": self.index_id, "generation_id": self.generation_id}
        return {"kind": "calibrate", **ids}


Message = IndexNodes | CompareIndex | ImportUpload | ExecutePlan | CalibrateIndex


def read_message(body: str) -> tuple[Message | None, int]:
    """Returns a message and its id in the outbox.

    The message is None for a kind that only a later release knows. Raises InvalidInputError for
    anything else.
    """
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidInputError("not a message: no JSON") from None
    message = message_from_json(said)
    return message, _id_in(said, MESSAGE_ID)


def message_from_json(said: object) -> Message | None:  # noqa: PLR0911 - one a kind
    """Returns the message in this JSON, whether it names an id or not.

    None for a kind that only a later release knows. Raises InvalidInputError for anything else.
    """
    if not isinstance(said, dict) or not isinstance(said.get("kind"), str):
        raise InvalidInputError("not a message: it names no kind")
    match said["kind"]:
        case "node":
            return IndexNodes((_id_in(said, "node_id"),))
        case "nodes":
            return IndexNodes(_ids_in(said, "node_ids"))
        case "enumerate":
            of_table = None if said.get("table_id") is None else _id_in(said, "table_id")
            return CompareIndex(_id_in(said, "index_id"), of_table)
        case "import":
            return ImportUpload(_id_in(said, "upload_id"))
        case "plan":
            return ExecutePlan(_id_in(said, "plan_id"))
        case "calibrate":
            return CalibrateIndex(_id_in(said, "index_id"), _id_in(said, "generation_id"))
    return None


def _id_in(said: Mapping[str, object], name: str) -> int:
    return _checked(said.get(name), name)


def _ids_in(said: Mapping[str, object], name: str) -> tuple[int, ...]:
    ids = said.get(name)
    if not isinstance(ids, list) or not 1 <= len(ids) <= MOST_NODES:
        raise InvalidInputError(f"not a message: {name} are no list of 1 to {MOST_NODES} ids")
    return tuple(_checked(each, name) for each in ids)


def _checked(value: object, name: str) -> int:
    if type(value) is not int or value not in _IDS:
        raise InvalidInputError(f"not a message: {name} is no id")
    return value


def message_key(message: Mapping[str, object]) -> str | None:  # noqa: PLR0911 - one a kind
    """Returns the text by which equal messages are recognised; None for an unknown kind.

    The trigger ``context_search_data_changed`` writes the same text for a comparison.
    """
    match message:
        case {"kind": "enumerate", "index_id": index_id}:
            return f"enumerate:{index_id}:{message.get('table_id') or ''}"
        case {"kind": "node", "node_id": node_id}:
            return f"node:{node_id}"
        case {"kind": "nodes", "node_ids": Sequence() as node_ids}:
            text = ",".join(str(node_id) for node_id in node_ids)
            return f"nodes:{hashlib.sha256(text.encode()).hexdigest()[:32]}"
        case {"kind": "import", "upload_id": upload_id}:
            return f"import:{upload_id}"
        case {"kind": "plan", "plan_id": plan_id}:
            return f"plan:{plan_id}"
        case {"kind": "calibrate", "generation_id": generation_id}:
            return f"calibrate:{generation_id}"
    return None


@dataclass(frozen=True, slots=True)
class SmallMessage:
    """A message in the outbox for a few small strings, of ``chars`` characters together."""

    id: int
    node_ids: tuple[int, ...]
    chars: int


def shared_messages(
    taken: Sequence[SmallMessage], waiting: Sequence[SmallMessage]
) -> dict[int, list[SmallMessage]]:
    """Returns which waiting messages go along with one that is taken, by its id.

    The oldest ones first, as far as the message has room. Messages that go alone have no entry.
    """
    company: dict[int, list[SmallMessage]] = {}
    rest = iter(waiting)
    other = next(rest, None)
    for message in taken:
        count, chars = len(message.node_ids), message.chars
        while other is not None and (
            count + len(other.node_ids) <= NODES_PER_MESSAGE
            and chars + other.chars <= MESSAGE_CHARS
        ):
            company.setdefault(message.id, []).append(other)
            count, chars = count + len(other.node_ids), chars + other.chars
            other = next(rest, None)
    return company


def together(message: SmallMessage, company: Sequence[SmallMessage]) -> IndexNodes:
    """Returns one message for the strings of several, each once."""
    ids = (node_id for each in (message, *company) for node_id in each.node_ids)
    return IndexNodes(tuple(dict.fromkeys(ids)))


def pause_s(times_lost: int, silent_s: float) -> float:
    """Returns for how many seconds a begun message is delayed when it was lost.

    ``times_lost`` counts the earlier losses. 0: no pause. 1: ``silent_s``. Each further loss
    doubles the pause, up to a day.
    """
    if times_lost == 0:
        return 0.0
    return min(LONGEST_PAUSE_S, silent_s * 2.0 ** min(times_lost - 1, _MOST_DOUBLINGS))


def long_window(window: int) -> int:
    """Returns how many long messages a project may have in the queue: half of the workers'
    number."""
    return max(1, window // 4)
