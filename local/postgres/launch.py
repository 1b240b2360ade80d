"""Becomes the server: drops root, asks to be told of its parent's death, then executes.

Run by path as ``launch.py parent uid gid program arguments``, with the rights of the caller: the
server's account may not be allowed to read Python or this file.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def _follow_parent() -> None:
    """Lets the kernel send SIGINT (a fast shutdown) when the parent dies; Linux only.

    After the change of user, which would clear the request (prctl(2), PR_SET_PDEATHSIG).
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)


def main(arguments: list[str]) -> None:
    """Does not return."""
    parent, uid, gid = (int(argument) for argument in arguments[:3])
    if uid != os.geteuid():
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    _follow_parent()
    if os.getppid() != parent:
        sys.exit("the parent was gone before the server started")
    os.execv(arguments[3], arguments[3:])  # noqa: S606  no shell is wanted


if __name__ == "__main__":
    main(sys.argv[1:])
