"""Every pinned package is asked about, and what is known of one is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from scripts.audit import main, pinned
from scripts.bom import bill_of_materials
from scripts.layer_contents import ROOT
from tests.integrations.json_server import JsonHandler, serving


class Osv(JsonHandler):
    """Answers as https://google.github.io/osv.dev/post-v1-querybatch/ says."""

    known: dict[str, list[str]]
    asked: list[str]

    def answer(self, body: bytes) -> None:
        queries: list[dict[str, Any]] = json.loads(body)["queries"]
        purls = [query["package"]["purl"] for query in queries]
        self.asked += purls
        results = [
            {
                "vulns": [
                    {"id": each, "modified": "2026-01-01T00:00:00Z"} for each in self.known[purl]
                ]
            }
            if purl in self.known
            else {}
            for purl in purls
        ]
        self.give(
            200 if self.path == "/v1/querybatch" else 404, json.dumps({"results": results}).encode()
        )


@pytest.fixture
def osv() -> Iterator[str]:
    Osv.known, Osv.asked = {}, []
    with serving(Osv) as url:
        yield url


def test_whatever_is_deployed_is_asked_about_and_so_is_the_console(osv: str) -> None:
    assert main(osv) == 0
    assert len(Osv.asked) == len(set(Osv.asked))
    assert set(Osv.asked) >= {each["purl"] for each in bill_of_materials()["components"]}
    lock = json.loads((ROOT / "console/package-lock.json").read_text("utf-8"))["packages"]
    signals = lock["node_modules/@preact/signals-core"]["version"]
    assert f"pkg:npm/%40preact/signals-core@{signals}" in Osv.asked


def test_what_is_known_of_a_package_is_told_with_the_locks_that_it_is_in(
    osv: str, capsys: pytest.CaptureFixture[str]
) -> None:
    [purl] = [purl for purl in pinned() if purl.startswith("pkg:pypi/litellm@")]
    Osv.known = {purl: ["GHSA-1", "PYSEC-2"]}
    assert main(osv) == 1
    reported = capsys.readouterr().out
    assert f"{purl}: GHSA-1, PYSEC-2 (layers/embedding/requirements.txt, " in reported
    assert f"{len(pinned())} packages, 1 with advisories" in reported


def test_an_osv_that_does_not_answer_is_no_clean_bill(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("http://127.0.0.1:9") == 2
    assert "audit: POST /v1/querybatch" in capsys.readouterr().err
