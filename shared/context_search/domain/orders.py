"""Orders: what the queue's messages ask for. They hold ids only and say how things shall be."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

ORDER_ID = "order"
"""The name under which a message carries the id of its order."""
LONG_STRING = 1_000_000
"""From so many characters on, the order for a string is a long one: it keeps a worker busy."""
LONGEST_PAUSE_S = 86_400.0
_MOST_DOUBLINGS = 20


def pause_s(times_lost: int, silent_s: float) -> float:
    """Returns how long an order that workers have begun rests when its message is lost again.

    ``times_lost`` counts the times before: not at all, then as long as it was silent, and twice as
    long each further time; at most a day.
    """
    if times_lost == 0:
        return 0.0
    return min(LONGEST_PAUSE_S, silent_s * 2.0 ** min(times_lost - 1, _MOST_DOUBLINGS))


def order_key(message: Mapping[str, object]) -> str | None:
    """Returns what is equal for orders of which one is enough; None for an unknown kind.

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
    return None


def long_window(window: int) -> int:
    """Returns how many long orders a project may have in the queue: for half of the workers."""
    return max(1, window // 4)
