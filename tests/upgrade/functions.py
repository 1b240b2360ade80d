"""``python -P functions.py TEMPLATE FUNCTION``: one function of one version, as Lambda calls it.

The version is that of the ``context_search`` that Python finds. Takes one event a line from
standard input, and answers with a line: ``{"answer": …}`` or ``{"raised": trace}``. What the
function itself prints goes to standard error. ``{"read": [body, …]}`` is no event: it asks
what this version understands of messages.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from local.invocation import LambdaFunction
from local.template import read_template


def understood(body: str) -> Any:
    """What a message says to this version; None: it leaves it to a later one."""
    from context_search.core.errors import InvalidInputError
    from context_search.core.messages import read_message

    try:
        message, message_id = read_message(body)
    except InvalidInputError as error:
        return f"refused: {error.message}"
    return None if message is None else {**message.to_json(), "order": message_id}


def main() -> None:
    """Answers until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    template = read_template(Path(sys.argv[1]))
    [function] = [
        LambdaFunction.load(each) for each in template.functions if each.code.name == sys.argv[2]
    ]
    for line in sys.stdin:
        answers.write(json.dumps(reported(function.invoke, json.loads(line))) + "\n")
        answers.flush()


def reported(invoke: Callable[[dict[str, Any]], Any], asked: dict[str, Any]) -> dict[str, Any]:
    """The answer to one line."""
    try:
        if "read" in asked:
            return {"answer": [understood(body) for body in asked["read"]]}
        return {"answer": invoke(asked)}
    except Exception:  # noqa: BLE001 - whatever the function raised
        return {"raised": traceback.format_exc()}


if __name__ == "__main__":
    main()
