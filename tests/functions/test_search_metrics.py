"""The metrics of search: what the deployed function prints for real requests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from context_search.composition.parts import parts
from context_search.core.errors import EmbeddingUnavailableError
from context_search.integrations.models.litellm_embedder import import_litellm
from tests.builders import english, planted
from tests.functions.deployment import Deployment, event, failures

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words", "log")]

DOCUMENT = {
    "a": planted(english(900), "The keeper counted nine comets.", 400),
    "b": planted(english(900, 2), "Nine comets came back.", 300),
}
STAGES = {"open", "embed", "turbopuffer", "read", "rank", "total"}
Line = dict[str, Any]


def ask(deployed: Deployment, tool: Line, query: str, path: str = "", **body: Any) -> Line:
    where = path or f"/api/v1/tools/{tool['tool_id']}/search"
    return deployed.http(
        "POST", where, {"query": query, **body}, key=tool["key"], function="search"
    )


def printed(capsys: pytest.CaptureFixture[str]) -> list[Line]:
    """The lines in the embedded metric format since the last look: metrics and fields."""
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
    for line in lines:
        [definition] = line.pop("_aws")["CloudWatchMetrics"]
        units = {metric["Name"]: metric["Unit"] for metric in definition["Metrics"]}
        for name, unit in units.items():
            assert unit == ("Seconds" if name.endswith("_seconds") else "Count")
            [line[name]] = line[name]
        assert definition["Dimensions"] == [["service"]]
    return lines


def one(lines: list[Line]) -> Line:
    """The line of the only search among them."""
    [line] = [line for line in lines if "searches_total" in line]
    assert (line["service"], line["searches_total"]) == ("search", 1)
    return line


def stages(line: Line) -> set[str]:
    """Whose latency a line tells."""
    names = {name for name in line if name.endswith("_duration_seconds")}
    assert all(0 <= line[name] < 60 for name in names)
    return {name.removeprefix("search_").removesuffix("_duration_seconds") for name in names}


@pytest.fixture
def tool(deployed: Deployment, capsys: pytest.CaptureFixture[str]) -> Line:
    made = deployed.tool(DOCUMENT)
    deployed.drain()
    printed(capsys)
    return made


def test_a_search_tells_its_stages_legs_and_candidates(
    deployed: Deployment, tool: Line, capsys: pytest.CaptureFixture[str]
) -> None:
    explained = ask(
        deployed, tool, "nine comets", f"/api/v1/tools/{tool['tool_id']}/search/explain"
    )
    line = one(printed(capsys))
    counts = explained["json"]["explain"]["counts"]
    assert line["kind"] == "explain"
    assert stages(line) == STAGES
    assert sorted(line["legs"]) == ["keyword", "vector"]
    assert line["candidates_total"] == counts["vector"] + counts["keyword"] > 2
    assert (line["searches_empty_total"], line["searches_degraded_total"]) == (0, 0)
    assert (line["candidates_gone_total"], line["hits_stale_total"]) == (0, 0)
    assert (line["question_vectors_kept_total"], line["targets_kept_total"]) == (0, 0)


def test_what_is_known_from_before_is_counted_and_takes_no_time(
    deployed: Deployment, tool: Line, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(deployed, tool, "two comets")
    first = one(printed(capsys))
    ask(deployed, tool, "two comets")
    second = one(printed(capsys))
    kept = ("question_vectors_kept_total", "targets_kept_total")
    assert [[line[name] for name in kept] for line in (first, second)] == [[0, 0], [1, 1]]
    assert (stages(first), stages(second)) == (STAGES, STAGES - {"open"})


def test_each_way_of_asking_is_a_kind(
    deployed: Deployment, tool: Line, capsys: pytest.CaptureFixture[str]
) -> None:
    project = f"/api/v1/projects/{tool['project_id']}"
    deployed.http("POST", f"{project}/search-index", {}, key=tool["key"])
    deployed.drain()
    printed(capsys)
    kinds = {
        f"/api/v1/tools/{tool['tool_id']}/search": "tool",
        f"/api/v1/tools/{tool['tool_id']}/retrieve": "retrieve",
        f"{project}/search": "project",
        f"{project}/search/explain": "project",
        f"{project}/retrieve": "retrieve_project",
    }
    for path, kind in kinds.items():
        assert ask(deployed, tool, "comets", path)["statusCode"] == 200
        assert one(printed(capsys))["kind"] == kind


def test_an_empty_answer_is_counted(
    deployed: Deployment, tool: Line, capsys: pytest.CaptureFixture[str]
) -> None:
    other = deployed.tool(DOCUMENT, strategy="keyword")
    deployed.drain()
    printed(capsys)
    assert ask(deployed, other, "xylophone")["json"]["results"] == []
    line = one(printed(capsys))
    assert (line["searches_empty_total"], line["candidates_total"]) == (1, 0)
    assert line["legs"] == ["keyword"]


@pytest.mark.parametrize("code", ["embed_timeout", "embed_unavailable"])
def test_a_degraded_search_is_counted_by_its_code(
    deployed: Deployment, tool: Line, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    late = import_litellm().Timeout("late", "model", "words")
    failures.append(late if code == "embed_timeout" else EmbeddingUnavailableError("away"))
    degraded = ask(deployed, tool, f"comets {code}")["json"]["retrieval"]["degraded"]
    line = one(printed(capsys))
    assert (line["searches_degraded_total"], line["legs"]) == (1, ["keyword"])
    assert line["degraded"] == degraded == [code]


def test_keywords_from_postgres_are_a_stage_of_their_own(
    deployed: Deployment, tool: Line, capsys: pytest.CaptureFixture[str]
) -> None:
    deployed.functions["cleanup"].invoke(event("cleanup"))  # which writes the words
    deployed.drain()
    parts().vectors.delete_namespace(tool["namespace"])
    printed(capsys)
    assert ask(deployed, tool, "comets")["json"]["results"]
    lines = printed(capsys)
    assert stages(one(lines)) == STAGES | {"postgres"}
    assert one(lines)["degraded"] == ["namespace_missing"]
    deployed.functions["cleanup"].invoke(event("cleanup"))
    deployed.drain()
    assert deployed.documents(tool["namespace"])  # written again


def test_dropped_and_stale_hits_are_counted(
    deployed: Deployment, tool: Line, capsys: pytest.CaptureFixture[str]
) -> None:
    path = f"/api/v1/tables/{tool['table_id']}/data"
    deployed.http("PUT", path, {"a": f"{DOCUMENT['a']} More."}, key=tool["key"])
    printed(capsys)
    explained = ask(deployed, tool, "comets", f"/api/v1/tools/{tool['tool_id']}/search/explain")
    line, reported = one(printed(capsys)), explained["json"]["explain"]
    stale = [each for each in reported["candidates"] if each["stale"]]
    assert line["candidates_gone_total"] == reported["counts"]["gone"] > 0
    assert line["hits_stale_total"] == len(stale) > 0
    deployed.drain()


def test_a_refused_search_is_counted_by_its_code_and_by_nothing_private(
    deployed: Deployment, tool: Line, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(deployed, tool, "...")["statusCode"] == 422
    assert ask(deployed, tool, "comets", "/api/v1/tools/999999/search")["statusCode"] == 404
    lines = printed(capsys)
    assert [line["code"] for line in lines] == ["QUERY_EMPTY", "NOT_FOUND"]
    for line in lines:
        assert line.keys() == {"service", "kind", "code", "search_errors_total"}
