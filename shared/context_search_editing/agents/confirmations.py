"""Proofs that a person was asked, for servers that keep nothing between two calls."""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass, field
from typing import Literal

from context_search.core.callers import McpKey
from context_search.core.json_text import to_json
from context_search.integrations.ports import Clock

ANSWERED_WITHIN_S = 600
"""How long a question may wait for its answer, in seconds."""
_STATE = re.compile(r"([1-9][0-9]{0,11})\.([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class PlanOperation:
    """What a person is asked: to execute or to undo one plan, as it was shown."""

    kind: Literal["execute", "undo"]
    plan_id: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Confirmations:
    """Makes and checks states: good for one operation of one MCP instance, for ten minutes.

    A state says that we asked. It can be shown twice: that a plan is executed once is the plan's
    own doing.
    """

    key: str = field(repr=False)
    clock: Clock

    def state_of(self, asking: McpKey, operation: PlanOperation) -> str:
        """Returns the state that goes with a question."""
        ends_at = int(self.clock.now().timestamp()) + ANSWERED_WITHIN_S
        return f"{ends_at}.{self._signature(ends_at, asking, operation)}"

    def is_good(self, state: str, asking: McpKey, operation: PlanOperation) -> bool:
        """Says whether that question was put to this instance, and may still be answered."""
        parts = _STATE.fullmatch(state)
        if parts is None:
            return False
        ends_at = int(parts[1])
        is_ours = hmac.compare_digest(parts[2], self._signature(ends_at, asking, operation))
        return is_ours and self.clock.now().timestamp() < ends_at

    def _signature(self, ends_at: int, asking: McpKey, operation: PlanOperation) -> str:
        whose = [asking.project_id, asking.mcp_id]
        what = [operation.kind, operation.plan_id, operation.digest.hex()]
        text = to_json([*whose, *what, ends_at])
        return hmac.digest(self.key.encode(), text.encode(), "sha256").hex()
