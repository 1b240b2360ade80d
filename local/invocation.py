"""Calling a Lambda handler the way the Python runtime does, but in a thread."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from local.template import FunctionSpec

Handler = Callable[[dict[str, Any], "LambdaContext"], Any]

ACCOUNT = "000000000000"
REGION = "us-east-1"


class LambdaContext:
    """The context object of awslambdaric, as far as Powertools and handlers use it.

    https://docs.aws.amazon.com/lambda/latest/dg/python-context.html
    """

    def __init__(self, function_name: str, memory_mb: int, timeout_s: float) -> None:
        self.function_name = function_name
        self.memory_limit_in_mb = str(memory_mb)  # text in the real runtime too
        self.invoked_function_arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function_name}"
        self.aws_request_id = str(uuid.uuid4())
        self._deadline = time.monotonic() + timeout_s

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda would stop the function, never negative."""
        return max(0, int((self._deadline - time.monotonic()) * 1000))


class _OwnedLoop:
    """An event loop that is closed when its owner goes."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()

    def __del__(self) -> None:
        self.loop.close()


_of_thread = threading.local()


def _set_event_loop() -> None:
    """Give the calling thread its event loop.

    A Lambda handler runs in the main thread, where asyncio makes a loop on demand (Mangum relies
    on that); in any other thread ``asyncio.get_event_loop()`` raises. Like on Lambda the loop
    outlives the invocation; it is closed when the thread ends.
    """
    if not hasattr(_of_thread, "owned"):
        _of_thread.owned = _OwnedLoop()
    asyncio.set_event_loop(_of_thread.owned.loop)


class LambdaFunction:
    """One function of the template with its handler loaded, callable from many threads."""

    def __init__(self, spec: FunctionSpec, handler: Handler) -> None:
        self.spec = spec
        self._handler = handler

    @classmethod
    def load(cls, spec: FunctionSpec) -> LambdaFunction:
        """Import the handler that the template names. Raises what the import raises."""
        return cls(spec, _load_handler(spec))

    def invoke(self, event: dict[str, Any]) -> Any:
        """Call the handler with a fresh context. Raises what the handler raises."""
        _set_event_loop()
        spec = self.spec
        return self._handler(event, LambdaContext(spec.name, spec.memory_mb, spec.timeout_s))


def _load_handler(spec: FunctionSpec) -> Handler:
    """Import ``<code>/<module>.py`` under a name of its own: every function has an ``app``."""
    module_name, _, attribute = spec.handler.rpartition(".")
    path = spec.code.joinpath(*module_name.split(".")).with_suffix(".py")
    qualified = f"functions.{spec.name}.{module_name}"
    found = importlib.util.spec_from_file_location(qualified, path)
    if found is None or found.loader is None:
        raise ImportError(f"{path} is not a Python module")
    module = importlib.util.module_from_spec(found)
    sys.modules[qualified] = module
    found.loader.exec_module(module)
    handler: Handler = getattr(module, attribute)
    return handler
