"""A scripted agent over ten questions: answers, calls and bytes, by searching alone and by reading.

``python -m bench agents`` starts a stack and fills it with the documents of ``tests/e2e/reading``.
The same questions are asked twice: with Search Tools alone, and with ``read`` and ``find_text``.
"""

from __future__ import annotations

from local.options import StackOptions
from tests.e2e.reading.asking import ask_all, furnish, lines
from tests.e2e.running import running_stack


def main() -> None:
    """Start, fill, ask, print."""
    with running_stack(StackOptions()) as running:
        tenant = running.project()
        furnish(tenant)
        for title, reads in (("searching", False), ("reading", True)):
            print("\n".join(lines(title, ask_all(tenant, "2026-07-28", reads=reads))), flush=True)


if __name__ == "__main__":
    main()
