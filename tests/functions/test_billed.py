"""What functions print of the bills of others, for everything that they asked of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from context_search.composition.parts import parts
from context_search.integrations.ports import Billed
from tests.builders import english
from tests.functions.deployment import Deployment, event

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words", "log")]

LEAST_WRITTEN, LEAST_QUERIED = 10_000, 1_280_000_000
PREFIX = "turbopuffer_"


def billed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The lines of bills since the last look, each as the function and its figures."""
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
    return [
        {name.removeprefix(PREFIX): value for name, value in line.items() if name != "_aws"}
        for line in lines
        if line["service"] == "billed"
    ]


def test_every_function_prints_what_its_calls_are_billed(
    deployed: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    text = english(300)
    tool = deployed.tool({"a": text})
    deployed.drain()
    chunks = deployed.sql("SELECT chunk_text FROM chunks WHERE table_id = :id", id=tool["table_id"])
    [indexed] = billed(capsys)
    assert indexed == {
        "service": "billed",
        "billed_by": "index-node",
        "written_bytes_total": [LEAST_WRITTEN],
        "embedding_tokens_total": [sum(len(row[0]) for row in chunks)],
    }

    path = f"/api/v1/tools/{tool['tool_id']}/search"
    asked = deployed.http("POST", path, {"query": "board"}, key=tool["key"], function="search")
    assert asked["statusCode"] == 200
    [searched] = billed(capsys)
    assert (searched["billed_by"], searched["embedding_tokens_total"]) == ("search", [len("board")])
    assert searched["queried_bytes_total"] == [2 * LEAST_QUERIED]

    deployed.http("PUT", f"/api/v1/tables/{tool['table_id']}/data", {}, key=tool["key"])
    deployed.drain()
    billed(capsys)
    deployed.functions["cleanup"].invoke(event("cleanup"))
    [cleaned] = billed(capsys)
    assert cleaned["billed_by"] == "cleanup"
    assert cleaned["written_bytes_total"] == [LEAST_WRITTEN]  # deletes, then a page of the sweep
    assert cleaned["queried_bytes_total"] == [LEAST_QUERIED]


def test_what_costs_nothing_prints_nothing(
    deployed: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    deployed.http("GET", "/api/v1/mcps", function="search")
    assert billed(capsys) == []


def test_a_failed_invocation_tells_what_it_had_been_charged(
    deployed: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    parts().meter.add(Billed(tokens=7))  # as a thread that a question left behind does
    with pytest.raises(AttributeError):
        deployed.functions["search"].invoke(None)
    [line] = billed(capsys)
    assert line["embedding_tokens_total"] == [7]
    assert parts().meter.take() == Billed()
