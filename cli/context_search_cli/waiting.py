"""Waiting for what goes on in the background of the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from context_search_cli.command import Session
from context_search_cli.failures import Code, CommandError

T = TypeVar("T")
FIRST_S = 0.25
LONGEST_S = 2.0


def wait_for(
    session: Session,
    look: Callable[[], T],
    *,
    is_over: Callable[[T], bool],
    reported: Callable[[T], str],
    timeout_s: float,
    share: Callable[[T], float | None] = lambda _: None,
) -> T:
    """Looks again and again until it is over; ``reported`` and ``share`` say how far it is.

    Raises CommandError with the code of what may be tried again when the time is over: what goes
    on there goes on. Ctrl-C stops the waiting alone, too.
    """
    ends = session.world.monotonic() + timeout_s
    pause = FIRST_S
    state = look()
    with session.out.progress(reported(state)) as report:
        while not is_over(state):
            report(reported(state), share(state))
            if session.world.monotonic() > ends:
                raise CommandError(
                    f"not finished after {timeout_s:g} s, it goes on: {reported(state)}",
                    Code.UNAVAILABLE,
                    code="TIMEOUT",
                    retryable=True,
                )
            session.world.sleep(pause)
            pause = min(pause * 1.5, LONGEST_S)
            state = look()
    return state
