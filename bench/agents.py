"""A scripted agent over ten questions: answers, calls and bytes, by searching alone and by reading.

``python -m bench agents`` starts a stack and fills it with the documents of ``tests/e2e/reading``.
The same questions are asked three times: with Search Tools alone, with what reads beside them, and
with one ``search`` in their place.
"""

from __future__ import annotations

from local.options import StackOptions
from tests.e2e.reading.asking import ask_all, furnish, lines
from tests.e2e.running import running_stack


def main() -> None:
    """Start, fill, ask, print."""
    with running_stack(StackOptions()) as running:
        tenant = running.project()
        single = tenant.mcp(*furnish(tenant), tools="single")
        for title, agent, reads in (
            ("Search Tools alone", tenant, False),
            ("Search Tools, read and find_text", tenant, True),
            ("search, read and find_text", single, True),
        ):
            print("\n".join(lines(title, ask_all(agent, "2026-07-28", reads=reads))), flush=True)


if __name__ == "__main__":
    main()
