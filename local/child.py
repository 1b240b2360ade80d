"""``python -m local.child MODULE [ARGUMENT...]``: run a module that dies with its parent.

The parent holds the only write end of this process' standard input. When the parent goes, even by
``kill -9``, the kernel closes that end, and the read below returns. Unlike ``PR_SET_PDEATHSIG``
this does not depend on which thread of the parent started the child, and there is no moment in
which the parent's death is missed.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading


def exit_with_parent(go: threading.Event | None = None) -> None:
    """Watch standard input in a thread: a byte sets ``go``, its end ends this process at once."""
    threading.Thread(target=_watch, args=(go,), name="parent-watch", daemon=True).start()


def _watch(go: threading.Event | None) -> None:
    while os.read(0, 1):
        if go is not None:
            go.set()
    os._exit(1)


if __name__ == "__main__":
    exit_with_parent()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
