"""``/_admin``: what only the local server has."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from local.turbopuffer.faults import Fault
from local.turbopuffer.replies import json_reply
from local.turbopuffer.request_bodies import parse_body, parse_json
from local.turbopuffer.service import Service


def admin_routes(service: Service) -> list[Route]:
    """Health, and the faults to inject. They need no key."""

    async def health(_: Request) -> Response:
        in_use = {name: slots.in_use for name, slots in service.slots.items() if slots.in_use}
        return json_reply({"status": "ok", "query_slots_in_use": in_use})

    async def arm(request: Request) -> Response:
        service.faults.arm(parse_body(Fault, parse_json(await request.body())))
        return json_reply({"faults": service.faults.view()}, 201)

    async def show(_: Request) -> Response:
        return json_reply({"faults": service.faults.view()})

    async def clear(_: Request) -> Response:
        service.faults.clear()
        return json_reply({"faults": []})

    return [
        Route("/_admin/health", health, methods=["GET"]),
        Route("/_admin/faults", arm, methods=["POST"]),
        Route("/_admin/faults", show, methods=["GET"]),
        Route("/_admin/faults", clear, methods=["DELETE"]),
    ]
