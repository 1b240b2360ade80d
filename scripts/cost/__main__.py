"""``python -m scripts.cost [LOAD]``: what a deployment costs a month, at first and now.

``small zh, questions_a_day=50, precision=f16`` is a user of docs/cost.md with other figures;
without a load, all of them. ``--write`` writes the tables of that page.
"""

from __future__ import annotations

import argparse
import sys

from scripts.cost.bill import first_bill, turbopuffer
from scripts.cost.load import NOW, USERS, Load, read
from scripts.cost.page import PAGE, bills, levers, written
from scripts.cost.usage import month


def main() -> int:
    """Returns the exit code: 2 for a load that cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m scripts.cost", description=__doc__)
    parser.add_argument("load", nargs="?", default="")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if given.write:
        PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
        return 0
    if not given.load:
        print(bills(USERS), levers(), sep="\n")
        return 0
    try:
        _show(read(given.load))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _show(load: Load) -> None:
    print(load, bills({"this load": load}), sep="\n")
    for name, dollars in turbopuffer(load, NOW).items():
        print(f"turbopuffer {name}: ${dollars:,.2f}")
    used = month(load, NOW)
    print(f"first load, once: ${first_bill(load):,.2f}", "", sep="\n")
    print("what its counters would show in a month:")
    counters = {
        "turbopuffer_written_bytes_total": used.written_bytes,
        "turbopuffer_queried_bytes_total": used.queried_bytes,
        "turbopuffer_returned_bytes_total": used.returned_bytes,
        "embedding_tokens_total": used.tokens,
        "vector rows": used.rows,
    }
    for name, value in counters.items():
        print(f"  {name:34} {value:>24,.0f}")


if __name__ == "__main__":
    sys.exit(main())
