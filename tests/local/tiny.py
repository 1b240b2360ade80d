"""Functions of a few lines, and the emulator, for tests of what runs around functions."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from local.emulator import emulator_environment
from local.environment import process_environment
from local.invocation import LambdaFunction
from local.options import ROOT
from local.processes import Child, handed_over
from local.template import FunctionSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local.invocation import Handler
    from local.template import QueueMapping, RouteSpec, ScheduleSpec

_LISTENING = "0A"  # TCP_LISTEN in /proc/net/tcp

PAGES = ("http://127.0.0.1:8787", "http://localhost:8787")
"""Origins of pages that the emulator of a test lets upload."""


def tiny_function(
    handler: Handler,
    *,
    routes: tuple[RouteSpec, ...] = (),
    queues: tuple[QueueMapping, ...] = (),
    schedules: tuple[ScheduleSpec, ...] = (),
    timeout_s: int = 3,
) -> LambdaFunction:
    """A function of the template, without a template."""
    spec = FunctionSpec(
        "Tiny", Path(), "app.lambda_handler", timeout_s, 128, routes, queues, schedules
    )
    return LambdaFunction(spec, handler)


@contextlib.contextmanager
def running_emulator(state: Path) -> Iterator[tuple[str, Child]]:
    """MiniStack as the stack starts it: its address and its process."""
    state.joinpath("tmp").mkdir(exist_ok=True)
    user = dict(os.environ)  # noqa: TID251  tests have no settings
    with handed_over() as (url, fd):
        environment = {**process_environment(user, ROOT), **emulator_environment(url, state)}
        program = ["local.child", "local.ministack", str(fd), *PAGES]
        child = Child("ministack", program, environment, state / "ministack.log", [fd])
    try:
        child.wait_for_http(f"{url}/_ministack/health", 30)
        yield url, child
    finally:
        child.stop(0)


def family(pid: int) -> set[int]:
    """A process and all that descend from it."""
    found = {pid}
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in task.read_text().split():
                found |= family(int(child))
    return found


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def listening_addresses(pid: int) -> set[tuple[str, int]]:
    """Where a process accepts TCP connections: (address, port)."""
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            sockets.add(str(descriptor.readlink()))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENING and f"socket:[{fields[9]}]" in sockets:
                address, _, port = fields[1].partition(":")
                found.add((_readable(address), int(port, 16)))
    return found


def _readable(address: str) -> str:
    """The kernel's hexadecimal address: four-byte words in the machine's order."""
    words = struct.unpack(f">{len(address) // 8}I", bytes.fromhex(address))
    packed = struct.pack(f"={len(words)}I", *words)
    return str(ipaddress.ip_address(packed))
