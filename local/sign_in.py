"""The address of the console on this machine, which signs in whoever opens it first."""

from __future__ import annotations

import httpx2


def console_address(base_url: str, api_key: str) -> str:
    """Returns it with a code that is good once, for five minutes; no key is in it.

    Without a code where the console is switched off, or the functions have just ended: then the
    stack reports which part ended.
    """
    page = f"{base_url}/console"
    headers = {"authorization": f"Bearer {api_key}"}
    try:
        reply = httpx2.post(f"{base_url}/api/v1/console/codes", headers=headers)
    except httpx2.TransportError:
        return page
    return f"{page}#/once/{reply.json()['code']}" if reply.is_success else page
