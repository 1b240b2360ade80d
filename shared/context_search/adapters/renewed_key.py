"""A bearer key that may be replaced while a client lives."""

from __future__ import annotations

from collections.abc import Callable, Generator

import httpx2


class RenewedKey(httpx2.Auth):
    """Sends the key with every request, and once more where another has taken its place.

    A refused request was not carried out, so whatever it asks for may be asked again.
    """

    def __init__(self, key: str, instead_of: Callable[[str], str | None]) -> None:
        self._key = key
        self._instead_of = instead_of

    def auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        """httpx's way to answer a refusal: https://www.python-httpx.org/advanced/authentication/."""
        key = self._key
        response = yield _with(request, key)
        if response.status_code in (401, 403) and (other := self._instead_of(key)) is not None:
            self._key = other
            yield _with(request, other)


def _with(request: httpx2.Request, key: str) -> httpx2.Request:
    request.headers["Authorization"] = f"Bearer {key}"
    return request
