"""Named tuples by the thousand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar, cast

Named = TypeVar("Named", bound=tuple[object, ...])


def maker_of(kind: type[Named]) -> Callable[[Iterable[object]], Named]:
    """Returns a function that makes a named tuple, in half the time of calling its class.

    It takes all values in order, and does not check how many there are.
    """
    return cast(Callable[[Iterable[object]], Named], partial(tuple.__new__, kind))
