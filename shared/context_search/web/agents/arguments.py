"""Arguments of tools, as the models behind clients write them."""

from __future__ import annotations

from collections.abc import Mapping


def given_arguments(arguments: Mapping[str, object]) -> dict[str, object]:
    """Returns the arguments that a call really gives.

    Clients send null for an argument that was left out. 3.0 is an integer in JSON Schema (2020-12,
    validation, 6.1.1).

    >>> given_arguments({"query": "x", "top_k": 3.0, "year": None})
    {'query': 'x', 'top_k': 3}
    """
    return {name: _whole(value) for name, value in arguments.items() if value is not None}


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value
