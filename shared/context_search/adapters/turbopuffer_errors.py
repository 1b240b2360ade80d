"""What turbopuffer's SDK raises, as errors of the domain."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import turbopuffer

from context_search.domain.errors import (
    NamespaceMissingError,
    VectorStoreRejectedError,
    VectorStoreUnavailableError,
)
from context_search.domain.limits import LONGEST_RETRY_S

LONGEST_PAUSE_S = 2.0
_PASSING = (401, 403, 408)


@contextmanager
def translated(*, final: int | None = None) -> Iterator[None]:
    """Maps the SDK's errors; only a definite 4xx counts as refused, and ``final``.

    A key that is refused is none: another takes its place, and the request is good.
    """
    try:
        yield
    except turbopuffer.NotFoundError as error:
        raise NamespaceMissingError("the namespace does not exist") from error
    except (turbopuffer.RateLimitError, turbopuffer.ConflictError) as error:
        raise _unavailable(error) from error
    except turbopuffer.APIStatusError as error:
        passing = error.status_code >= 500 or error.status_code in _PASSING
        if passing and error.status_code != final:
            raise _unavailable(error) from error
        raise VectorStoreRejectedError(f"turbopuffer answered {error.status_code}") from error
    except turbopuffer.APIError as error:
        raise VectorStoreUnavailableError(type(error).__name__) from error


def _unavailable(error: turbopuffer.APIStatusError) -> VectorStoreUnavailableError:
    return VectorStoreUnavailableError(
        f"turbopuffer answered {error.status_code}", retry_after_s=_retry_after_s(error.response)
    )


def refuse_long_pauses(response: httpx2.Response) -> None:
    """Lets the error out at once; the SDK would sleep for up to half an hour if told so."""
    if (_retry_after_s(response) or 0.0) > LONGEST_PAUSE_S:
        response.headers["x-should-retry"] = "false"


def _retry_after_s(response: httpx2.Response) -> float | None:
    try:
        return min(LONGEST_RETRY_S, max(0.0, float(response.headers["retry-after"])))
    except (KeyError, ValueError):
        return None
