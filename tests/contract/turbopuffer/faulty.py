"""The admin routes of the local server, as tests use them."""

from __future__ import annotations

from typing import Any

import httpx2


class Faults:
    """Arms, lists and clears faults; tells how many query slots are taken."""

    def __init__(self, http: httpx2.Client) -> None:
        self._http = http

    def arm(self, kind: str, **options: Any) -> None:
        """Arm a fault (see ``local.turbopuffer.faults.Fault``)."""
        answer = self._http.post("/_admin/faults", json={"kind": kind, **options})
        assert answer.status_code == 201, answer.text

    def armed(self) -> list[dict[str, Any]]:
        """Faults that have not struck as often as they were armed for."""
        faults: list[dict[str, Any]] = self._http.get("/_admin/faults").json()["faults"]
        return faults

    def clear(self) -> None:
        """Disarm all."""
        assert self._http.delete("/_admin/faults").status_code == 200

    def slots_in_use(self, namespace: str) -> int:
        """Query slots of the namespace that are taken now."""
        in_use: dict[str, int] = self._http.get("/_admin/health").json()["query_slots_in_use"]
        return in_use.get(namespace, 0)
