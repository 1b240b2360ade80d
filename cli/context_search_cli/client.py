"""One HTTP client for all commands: what will pass is asked again, what is refused ends a command.

A request is repeated only where that cannot do a thing twice: what was never sent, what the server
itself calls ``retryable``, and, of connections that broke, requests that are safe to repeat.
"""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import httpx2

from context_search_cli.config import Endpoint
from context_search_cli.failures import ProblemError, UnreachableError, UsageError

TRIES = 6
"""How often a request is sent at most, usually."""
PATIENCE_S = 60.0
"""How long one request waits between its tries, all together."""
TIMEOUT = httpx2.Timeout(40.0, connect=10.0)
"""A function answers within 29 s."""
TRANSFER = httpx2.Timeout(300.0, connect=10.0)
"""Of a document that goes to the bucket."""
MOST_BYTES = 16_000_000
"""Of an answer; those of the API have 6 MB at most."""
MOST_PAGES = 10_000
"""Of a list; a page has 50 rows and more."""
_SECONDS = re.compile("[0-9]{1,6}")
_REVISION = re.compile('(?:W/)?"([0-9]{1,19})"')
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class Members(dict[str, Any]):
    """A JSON object of an answer; what the API would have given and is not there, is told."""

    def __missing__(self, name: str) -> Any:
        raise UnreachableError(f"the answer has no {name}: is this address the API's?")


@dataclass(frozen=True)
class Response:
    """What the server said: ``text`` is exact, ``body`` parsed."""

    status: int
    text: str
    etag: str | None = None
    date: str | None = None
    policy: str | None = None

    @cached_property
    def value(self) -> Any:
        """The JSON. Raises UnreachableError where something else than the API has answered."""
        try:
            return json.loads(self.text, object_hook=Members)
        except (ValueError, RecursionError):
            raise UnreachableError("the answer is no JSON: is this address the API's?") from None

    @property
    def body(self) -> Members:
        """The JSON object that nearly every answer is. Raises UnreachableError for another."""
        if not isinstance(self.value, Members):
            raise UnreachableError("the answer is no JSON object: is this address the API's?")
        return self.value

    def __getitem__(self, name: str) -> Any:
        """A member of the body. Raises UnreachableError where the API would have given one."""
        return self.body[name]

    @property
    def revision(self) -> int:
        """The number in the ETag, which a proxy that compresses has made a weak one."""
        found = _REVISION.fullmatch(self.etag or "")
        if not found:
            raise UnreachableError("the answer has no revision: is this address the API's?")
        return int(found[1])


class Client:
    """Asks one endpoint; several threads may ask at the same time.

    Where one of them is told to wait, what the others would send next waits with it. ``tries`` is
    how often a request is sent at most.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        transport: httpx2.BaseTransport | None = None,
        tries: int = TRIES,
        report: Callable[[str], None] = lambda _: None,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._endpoint = endpoint
        self._transport = transport
        self._tries = tries
        self._report = report
        self._sleep = sleep
        self._monotonic = monotonic
        self._resting = threading.Lock()
        self._http = httpx2.Client(
            base_url=endpoint.url,
            transport=transport,
            timeout=TIMEOUT,
            headers={"User-Agent": "context-search-cli"},
        )

    def get(self, path: str, **params: object) -> Response:
        """Reads something."""
        return self.request("GET", path, params=params, is_safe=True)

    def create(
        self,
        path: str,
        body: object = None,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        **params: object,
    ) -> Response:
        """Makes something once, however often the request has to be sent."""
        return self.request(
            "POST",
            path,
            body,
            content=content,
            params=params,
            headers={"Idempotency-Key": str(uuid.uuid4()), **(headers or {})},
            is_safe=True,
        )

    def ask(self, path: str, body: object = None, **params: object) -> Response:
        """A ``POST`` that changes nothing, or that done twice is done once."""
        return self.request("POST", path, body, params=params, is_safe=True)

    def delete(self, path: str, **params: object) -> Response:
        """Deletes something."""
        done = self.request("DELETE", path, params=params)
        if done.status != 204:
            _ = done.body  # a page of something else than the API has deleted nothing
        return done

    def pages(
        self, path: str, name: str, *, limit: int, page: int | None = None, **params: object
    ) -> tuple[list[Any], bool]:
        """The first ``limit`` rows of a list (0: all), and whether there are more.

        ``page`` is how many a request asks for, where the route may be told.
        """
        return _rows(
            lambda cursor: self.get(path, **params, limit=page, cursor=cursor), name, limit
        )

    def asked_pages(
        self, path: str, name: str, body: Mapping[str, object], *, limit: int
    ) -> tuple[list[Any], bool]:
        """The same of a list that is asked for in a body."""
        return _rows(
            lambda cursor: self.ask(path, {**body, "cursor": cursor} if cursor else dict(body)),
            name,
            limit,
        )

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content: bytes | None = None,
        params: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        is_safe: bool = False,
    ) -> Response:
        """Sends a request until it is answered. Raises ProblemError, UnreachableError."""
        sent = dict(self._credentials())
        if body is not None:
            content = encoded(body)
        if content is not None:
            sent["Content-Type"] = "application/json"
        given = {name: _text(value) for name, value in (params or {}).items() if value is not None}
        with _in_utf_8():
            request = self._http.build_request(
                method, path, params=given, content=content, headers={**sent, **(headers or {})}
            )
        return self._answered(request, is_safe=is_safe)

    def put_document(
        self, url: str, headers: Mapping[str, str], size: int, pieces: Callable[[], Iterator[bytes]]
    ) -> None:
        """Puts a document into the bucket, without our key. Raises ProblemError, UnreachableError.

        The signature is in the URL, so no message names it.
        """
        with httpx2.Client(transport=self._transport, timeout=TRANSFER) as bucket:
            for left in reversed(range(min(self._tries, 3))):
                try:
                    reply = bucket.put(
                        url, content=pieces(), headers={**headers, "Content-Length": str(size)}
                    )
                except httpx2.HTTPError as error:
                    reason = f"the bucket did not take the document: {type(error).__name__}"
                else:
                    if reply.is_success:
                        return
                    if reply.status_code < 500:
                        raise ProblemError(
                            reply.status_code, {"code": "UPLOAD_REFUSED", "retryable": False}
                        )
                    reason = f"the bucket answered {reply.status_code}"
                if left:
                    self._report(f"{reason}; sending it again")
                    self._sleep(1.0)
            raise UnreachableError(reason)

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def _credentials(self) -> dict[str, str]:
        if self._endpoint.secret is not None:
            return {"X-Internal-Secret": self._endpoint.secret}
        if self._endpoint.key is not None:
            return {"Authorization": f"Bearer {self._endpoint.key}"}
        return {}

    def _answered(self, request: httpx2.Request, *, is_safe: bool) -> Response:
        waited = 0.0
        for attempt in range(1, self._tries + 1):
            with self._resting:
                pass
            reply = self._sent(request, is_safe=is_safe)
            if isinstance(reply, Response):
                return reply
            wait = _wait(reply, attempt)
            if wait is None or attempt == self._tries or waited + wait > PATIENCE_S:
                raise reply
            waited += wait
            self._report(f"{str(reply).splitlines()[0]} — trying again in {wait:g} s")
            self._rest(wait)
        raise AssertionError("the last try returns or raises")

    def _rest(self, wait_s: float) -> None:
        """Waits; who was told so together with others waits together with them."""
        began = self._monotonic()
        with self._resting:
            self._sleep(max(0.0, wait_s - (self._monotonic() - began)))

    def _sent(
        self, request: httpx2.Request, *, is_safe: bool
    ) -> Response | ProblemError | UnreachableError:
        try:
            reply = self._http.send(request, stream=True)
            try:
                content = _content(reply)
            finally:
                reply.close()
        except httpx2.HTTPError as error:
            failure = UnreachableError(_unanswered(self._endpoint.url, error))
            failure.document["retryable"] = is_safe or isinstance(error, _NEVER_SENT)
            return failure
        except (httpx2.InvalidURL, UnicodeError):
            raise UsageError("this is no address that can be asked") from None
        if reply.is_redirect:
            raise UnreachableError("the answer is a redirection: give the API's own address")
        if not reply.is_success:
            return _problem(reply, content)
        names = ("ETag", "Date", "Content-Security-Policy")
        text = content.decode(errors="replace")
        return Response(reply.status_code, text, *map(reply.headers.get, names))


def encoded(value: object) -> bytes:
    """JSON in UTF-8. Raises UsageError for what a terminal of another encoding has given."""
    with _in_utf_8():
        return json.dumps(value, ensure_ascii=False).encode()


@contextmanager
def _in_utf_8() -> Iterator[None]:
    """Turns an argument of bytes that are no UTF-8 into a UsageError, where it is to be sent."""
    try:
        yield
    except UnicodeEncodeError:
        raise UsageError("an argument is no text in UTF-8") from None


def pages_of(ask: Callable[[str | None], Response]) -> Iterator[Response]:
    """Gives the pages of a list, each of which names the next.

    Raises UnreachableError where they would go on for ever.
    """
    cursor = None
    seen: set[str] = set()
    while len(seen) < MOST_PAGES:
        page = ask(cursor)
        yield page
        cursor = page.body.get("cursor")
        if cursor is None:
            return
        if not isinstance(cursor, str) or cursor in seen:
            raise UnreachableError("the list names a page that was there: is this the API?")
        seen.add(cursor)
    raise UnreachableError(f"the list has over {MOST_PAGES:,} pages: is this the API?")


def _rows(ask: Callable[[str | None], Response], name: str, limit: int) -> tuple[list[Any], bool]:
    rows: list[Any] = []
    for page in pages_of(ask):
        rows += _list(page[name], name)
        if 0 < limit <= len(rows):
            return rows[:limit], len(rows) > limit or page.body.get("cursor") is not None
    return rows, False


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise UnreachableError(f"the answer's {name} is no list: is this address the API's?")
    return value


def _content(reply: httpx2.Response) -> bytes:
    content = bytearray()
    for piece in reply.iter_bytes():
        content += piece
        if len(content) > MOST_BYTES:
            raise UnreachableError("the answer has no end: is this address the API's?")
    return bytes(content)


def _problem(reply: httpx2.Response, content: bytes) -> ProblemError:
    try:
        problem = json.loads(content)
    except (ValueError, RecursionError):
        problem = None
    if isinstance(problem, dict) and isinstance(problem.get("error"), dict):
        # JSON-RPC, as /mcp answers: the problem is the data of its error.
        error = problem["error"]
        about = error.get("data")
        problem = {"detail": error.get("message"), **(about if isinstance(about, dict) else {})}
    if not isinstance(problem, dict):
        problem = {"message": f"{reply.status_code} {reply.reason_phrase}"}
    after = reply.headers.get("Retry-After", "")
    if _SECONDS.fullmatch(after):
        problem.setdefault("retryAfterMs", int(after) * 1000)
    return ProblemError(reply.status_code, problem)


def _wait(failure: ProblemError | UnreachableError, attempt: int) -> float | None:
    """Seconds until the next try, or None where it would be pointless or harmful."""
    if isinstance(failure, UnreachableError):
        # A server that is not there is told at once, after a second look.
        return 0.5 * attempt if failure.document["retryable"] and attempt < 3 else None
    if not failure.is_retryable:
        return None
    said = failure.problem.get("retryAfterMs")
    if isinstance(said, int | float):
        return max(0.05, min(said, PATIENCE_S * 2000) / 1000)
    return min(2.0 ** (attempt - 1), 8.0)


def _unanswered(url: str, error: httpx2.HTTPError) -> str:
    if isinstance(error, httpx2.ConnectError):
        return f"{url} cannot be reached: {error}"
    if isinstance(error, httpx2.TimeoutException):
        return f"{url} did not answer in time"
    return f"{url} broke the connection off ({type(error).__name__})"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
