"""What the server refuses, as one exception that carries its HTTP status."""

from __future__ import annotations


class ApiError(Exception):
    """A refusal: ``status`` is the HTTP status, ``message`` goes into the error body."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


def invalid(message: str) -> ApiError:
    """400: the request is well formed and means nothing here."""
    return ApiError(400, message)


def unsupported(what: str) -> ApiError:
    """400: the real service may know it, this server does not."""
    return ApiError(400, f"{what} is not supported by the local server")


def malformed(message: str) -> ApiError:
    """422: the JSON is valid and has the wrong shape."""
    return ApiError(422, message)


def namespace_missing(name: str) -> ApiError:
    """404: nothing was ever written to the namespace, or it was deleted."""
    return ApiError(404, f"🤷 namespace '{name}' was not found")
