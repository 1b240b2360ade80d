"""``python -m local.reset``: forget everything the local stack keeps."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

from local.locks import DirectoryInUseError
from local.postgres import PostgresServer
from local.state import DEFAULT_STATE, StackBusyError, StackError, State


def main() -> int:
    """Wipe the state folder; 2 while a stack runs on it and for what is no state folder."""
    parser = argparse.ArgumentParser(prog="python -m local.reset", description=__doc__)
    parser.add_argument("--state", type=Path, default=DEFAULT_STATE)
    folder = parser.parse_args().state
    if not folder.exists():
        print(f"{folder} does not exist: nothing to wipe")
        return 0
    state = State(folder)
    if folder != DEFAULT_STATE and not state.was_used():
        print(f"error: {folder} is not the state folder of a stack", file=sys.stderr)
        return 2
    print(f"deleting {state.root}: its documents, indexes, keys and uploads")
    try:
        wipe(state)
    except StackError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{state.root} is empty again")
    return 0


def wipe(state: State) -> None:
    """Delete all that was stored under a state folder, in state folders inside it as well.

    Raises StackBusyError while anything runs on it.
    """
    with ExitStack() as locks:
        locks.enter_context(state.locked())
        for lock in state.root.glob("*/lock"):
            locks.enter_context(State(lock.parent).locked())
        try:
            # Not just with the folder: root's data may be where the server's account reaches it.
            for lock in list(state.root.rglob("postgres.lock")):
                PostgresServer(lock.parent).wipe()
        except DirectoryInUseError as error:
            raise StackBusyError(str(error)) from None
        state.wipe()


if __name__ == "__main__":
    sys.exit(main())
