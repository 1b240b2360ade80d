"""The built functions do their work in the jail."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import pytest

from tests.builders import english
from tests.functions.deployment import Deployment, event
from tests.functions.test_rotation import Rotating
from tests.runtime.built import BARE, BuiltFunctions, ask, asked
from tests.runtime.check_budgets import show

TEXT = f"{english(3_000, 1)}\n\nThe lighthouse keeper counted comets.\n\n{english(3_000, 2)}"
EMULATED_WARM_UPS = 60
"""Questions at most until litellm and the vocabulary are read, for which one has not the time."""


@pytest.fixture(scope="session")
def built(rotating: tuple[BuiltFunctions, Rotating]) -> BuiltFunctions:
    return rotating[0]


@pytest.fixture(scope="module")
def deployed(rotating: tuple[BuiltFunctions, Rotating]) -> Iterator[Deployment]:
    """The four functions, each in one environment that answers whatever is asked here."""
    built, rotation = rotating
    with ExitStack() as parts:
        cold = {name: parts.enter_context(built.cold(name)) for name in built.functions}
        rotation.deployed = replace(rotation.deployed, functions=cold)
        yield rotation.deployed
        for environment in cold.values() if built.jail.means.unshare else ():
            assert environment.written() == []


def mcp(deployed: Deployment, key: str, method: str, **params: object) -> dict[str, Any]:
    """The result of the recorded MCP request, with another method."""
    request = event("mcp")
    body = json.loads(request["body"])
    body |= {"method": method, "params": body["params"] | params}
    named = {"mcp-name": str(params["name"])} if "name" in params else {}
    request["headers"] |= {"authorization": f"Bearer {key}", "mcp-method": method, **named}
    answer = deployed.functions["search"].invoke({**request, "body": json.dumps(body)})
    result: dict[str, Any] = json.loads(answer["body"])["result"]
    return result


@pytest.mark.arm64
def test_from_a_document_to_answers_and_away(deployed: Deployment, built: BuiltFunctions) -> None:
    tool = deployed.tool({"report": TEXT}, strategy="hybrid")
    deployed.drain()
    for _ in range(EMULATED_WARM_UPS if built.jail.arm64 else 0):
        first = asked(deployed, tool, "harbour")
        if first["statusCode"] == 200 and not first["json"]["retrieval"]["degraded"]:
            break
    found = ask(deployed, tool, "lighthouse comets")
    assert "lighthouse keeper" in found["results"][0]["chunk"]["chunk_text"]
    assert (found["retrieval"]["legs"], found["retrieval"]["degraded"]) == (
        ["vector", "keyword"],
        [],
    )

    words = deployed.tool({"report": TEXT}, strategy="keyword")
    deployed.drain()
    assert "lighthouse" in ask(deployed, words, "lighthouse")["results"][0]["chunk"]["chunk_text"]

    tools = mcp(deployed, tool["key"], "tools/list")["tools"]
    listed = next(each for each in tools if "query" in each["inputSchema"]["properties"])
    for name, arguments in (
        (listed["name"], {"query": "comets"}),
        ("find_text", {"pattern": "light[a-z]+ keeper"}),
    ):
        called = mcp(deployed, tool["key"], "tools/call", name=name, arguments=arguments)
        assert "lighthouse keeper" in json.dumps(called)
    [match] = called["structuredContent"]["matches"]
    cited = {"cite": match["cite"]}
    read = mcp(deployed, tool["key"], "tools/call", name="read", arguments=cited)
    assert read["structuredContent"]["status"] == "current"

    path = f"/api/v1/tables/{tool['table_id']}"
    assert deployed.http("DELETE", path, key=tool["key"])["statusCode"] == 204
    report = deployed.functions["cleanup"].invoke(event("cleanup"))
    assert (report["errors"], report["documents_deleted"] > 0) == ([], True)


@pytest.mark.arm64
def test_what_was_overwritten_is_read_and_restored(deployed: Deployment) -> None:
    project_id, key = deployed.project()
    documents = [{"report": english(200_000, seed)} for seed in range(3)]  # of several pieces
    body = {"project_id": project_id, "name": "table", "data": documents[0]}
    table = deployed.http("POST", "/api/v1/tables", body, key=key)["json"]
    path = f"/api/v1/tables/{table['id']}"
    for document in documents[1:]:
        assert deployed.http("PUT", f"{path}/data", document, key=key)["statusCode"] == 200

    listed = deployed.http("GET", f"{path}/versions", key=key)["json"]["versions"]
    assert [each["revision"] for each in listed] == [3, 2, 1]
    assert [each["recorded"] for each in listed] == [True] * 3
    first = f"{path}/versions/1"
    assert deployed.http("GET", f"{first}/data", key=key)["json"] == documents[0]
    assert deployed.http("POST", f"{first}/restore", key=key)["json"]["revision"] == 4
    assert deployed.http("GET", f"{path}/data", key=key)["json"] == documents[0]


def test_a_pattern_is_replaced_and_taken_back(
    deployed: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    project_id, key = deployed.project()
    document = {"report": TEXT, "note": "废弃仓库，不是废弃的工厂。", "n": 1.10}
    body = {"project_id": project_id, "name": "table", "data": document}
    table = deployed.http("POST", "/api/v1/tables", body, key=key)["json"]
    where, place = f"/api/v1/projects/{project_id}/replace", f"/api/v1/tables/{table['id']}/data"
    create_tool, spent = deployed.functions["create_tool"], []

    def post(path: str, body: object) -> dict[str, Any]:
        begun = time.perf_counter()
        answer = deployed.http("POST", f"{where}/{path}", body, key=key)
        spent.append(f"{path.rpartition('/')[2]} {1000 * (time.perf_counter() - begun):.0f} ms")
        assert answer["statusCode"] == 200, answer
        done: dict[str, Any] = answer["json"]
        return done

    asked = {"find": "(废)弃|light(house)", "replace_with": "${1}$2", "regex": True}
    plan = post("preview", asked)
    shown = [(match["found"], match["becomes"]) for match in plan["matches"]]
    assert shown == [("废弃", "废"), ("废弃", "废"), ("lighthouse", "house")]
    done = post("execute", {"plan_id": plan["plan_id"], "digest": plan["digest"]})
    assert (done["state"], done["replaced_count"]) == ("done", 3)
    changed = {
        **document,
        "report": TEXT.replace("lighthouse", "house"),
        "note": "废仓库，不是废的工厂。",
    }
    assert deployed.http("GET", place, key=key)["json"] == changed
    assert post(f"{plan['plan_id']}/undo", {})["reverted_count"] == 3
    assert deployed.http("GET", place, key=key)["json"] == document
    show(capsys, f"replacing    {', '.join(spent)}; {create_tool.peak_mb:.0f} MB")
    assert create_tool.peak_mb <= create_tool.function.memory_mb


def test_a_pattern_is_searched_for_in_a_process_of_its_own(
    built: BuiltFunctions, capsys: pytest.CaptureFixture[str]
) -> None:
    own = replace(built.functions["create_tool"], task=BARE.task, handler="patterns.lambda_handler")
    built = replace(built, functions={"patterns": own})
    with built.cold("patterns") as patterns:
        begun = time.perf_counter()
        found = patterns.invoke({"pattern": "废弃(仓库|工厂)", "text": "废弃仓库，不是废弃的。"})
        show(capsys, f"patterns     first {1000 * (time.perf_counter() - begun):.0f} ms")
        assert not built.jail.means.unshare or patterns.written() == []
    assert found == {"engine": f"re2 {version('google-re2')}", "matches": ["废弃仓库"]}


@pytest.mark.arm64
def test_the_recorded_events_are_answered(deployed: Deployment) -> None:
    for name, function in (("create_tool",) * 2, ("search",) * 2, ("mcp", "search")):
        assert deployed.functions[function].invoke(event(name))["statusCode"] == 401
    unknown = deployed.functions["index_node"].invoke(event("index_node"))
    assert unknown == {"batchItemFailures": []}


def test_a_new_password_reaches_environments_that_run(
    deployed: Deployment, rotating: tuple[BuiltFunctions, Rotating]
) -> None:
    rotation = rotating[1]
    tool = deployed.tool({"report": TEXT}, strategy="hybrid")
    deployed.drain()
    ask(deployed, tool, "comets")
    rotation.change_password("another one")
    rotation.put(database_url=rotation.url_with("another one"))
    assert rotation.ask() == 401
    assert ask(deployed, tool, "lighthouse")["retrieval"]["degraded"] == []
    assert deployed.functions["cleanup"].invoke(event("cleanup"))["errors"] == []
