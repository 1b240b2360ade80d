"""``python -m local.reset``: forget everything the local stack keeps."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from local.postgres import DataDirectoryInUseError, PostgresServer
from local.state import DEFAULT_STATE, StackError, State


def main() -> int:
    """Wipe the state folder; 2 while a stack runs on it."""
    parser = argparse.ArgumentParser(prog="python -m local.reset", description=__doc__)
    parser.add_argument("--state", type=Path, default=DEFAULT_STATE)
    state = State(parser.parse_args().state)
    if not state.root.exists():
        print(f"{state.root} does not exist: nothing to wipe")
        return 0
    try:
        with state.locked():
            # Some of its files may be elsewhere, where its account can reach them.
            PostgresServer(state.postgres).wipe()
            state.wipe()
    except (StackError, DataDirectoryInUseError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{state.root} is empty again")
    return 0


if __name__ == "__main__":
    sys.exit(main())
