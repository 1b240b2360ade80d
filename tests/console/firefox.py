"""A stock Firefox over WebDriver BiDi, W3C's protocol, which it speaks by itself.

Playwright drives its own build of Firefox only; the other drivers need a geckodriver, which is in
no registry. What one page needs of the protocol is small: https://w3c.github.io/webdriver-bidi/
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, ClientWebSocketResponse

_STARTS_WITHIN_S = 60
_ANSWERS_WITHIN_S = 30
_SPECIAL = {"Enter": "\ue007", "Tab": "\ue004"}


class Firefox:
    """One window; what the page logs, and what its policy refuses, is in ``reported``."""

    def __init__(self, socket: ClientWebSocketResponse) -> None:
        self._socket = socket
        self._ids = count(1)
        self._page = ""
        self.reported: list[str] = []
        """Errors that the page logs. Refusals of the policy are errors of the page's console."""
        self.requests: list[str] = []

    async def begin(self) -> None:
        """Starts the session and looks for its window."""
        await self._do("session.new", capabilities={})
        events = ["log.entryAdded", "network.beforeRequestSent"]
        await self._do("session.subscribe", events=events)
        tree = await self._do("browsingContext.getTree")
        self._page = tree["contexts"][0]["context"]

    async def watch(self) -> None:
        """From the next page on, what a policy refuses is told as an error."""
        script = (
            "() => addEventListener('securitypolicyviolation',"
            " event => console.error('refused', event.violatedDirective, event.sample))"
        )
        await self._do("script.addPreloadScript", functionDeclaration=script)

    async def open(self, address: str) -> None:
        """Loads an address."""
        await self._do("browsingContext.navigate", context=self._page, url=address, wait="complete")

    async def value(self, expression: str) -> Any:
        """The JSON value of an expression, when its promise has come."""
        reported = await self._do(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({expression})))()",
            target={"context": self._page},
            awaitPromise=True,
            userActivation=True,
        )
        if reported["type"] != "success":
            raise AssertionError(reported["exceptionDetails"]["text"])
        return json.loads(reported["result"].get("value", "null"))

    async def until(self, condition: str) -> None:
        """Waits, frame by frame, until an expression is true."""
        await self.value(
            "new Promise(done => { const look = () =>"
            f" ({condition}) ? done(1) : requestAnimationFrame(look); look(); }})"
        )

    async def press(self, *keys: str) -> None:
        """Presses keys, one after the other: characters, ``Enter`` and ``Tab``."""
        typed = [_SPECIAL.get(key, key) for key in keys]
        actions = [{"type": kind, "value": key} for key in typed for kind in ("keyDown", "keyUp")]
        keyboard = {"type": "key", "id": "keyboard", "actions": actions}
        await self._do("input.performActions", context=self._page, actions=[keyboard])

    async def _do(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._ids)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            while True:
                message = await self._socket.receive_json()
                if message["type"] == "event":
                    self._note(message["method"], message["params"])
                elif message["id"] == number:
                    break
        if message["type"] == "error":
            raise AssertionError(f"{method}: {message['error']}: {message['message']}")
        return dict(message["result"])

    def _note(self, event: str, params: dict[str, Any]) -> None:
        if event == "network.beforeRequestSent":
            if params["context"] == self._page:  # Firefox asks for things of its own
                self.requests.append(params["request"]["url"])
        elif params["level"] == "error":
            self.reported.append(str(params["text"]))


@asynccontextmanager
async def firefox(path: str, profile: Path) -> AsyncIterator[Firefox]:
    """A Firefox without a window, in a profile of its own; it ends with the context."""
    (profile / "user.js").write_text('user_pref("intl.locale.requested", "en-US");\n')
    command = [path, "--headless", "--no-remote", "--profile", str(profile)]
    process = await asyncio.create_subprocess_exec(
        *command,
        "--remote-debugging-port=0",
        "about:blank",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        address = await asyncio.wait_for(_address(process), _STARTS_WITHIN_S)
        async with (
            ClientSession() as http,
            http.ws_connect(f"{address}/session", max_msg_size=0) as socket,
        ):
            driven = Firefox(socket)
            await driven.begin()
            yield driven
    finally:
        process.terminate()
        await process.communicate()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr
    said = b""
    async for line in process.stderr:
        said += line
        if b"BiDi listening on " in line:
            return line.split()[-1].decode()
    raise AssertionError(f"Firefox does not start: {said.decode()}")
