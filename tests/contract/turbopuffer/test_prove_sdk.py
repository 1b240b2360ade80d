"""The SDK's own tests are run and compared with the list, shown with a tree of the same shape."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.contract.turbopuffer.prove_sdk import SdkError, outcomes, reported, surprises
from tests.contract.turbopuffer.targets import LocalServer

pytestmark = pytest.mark.stack
CONFIG = '[tool.pytest.ini_options]\naddopts = "--no-such-option"\n'
TESTS = """
import pytest
from turbopuffer import NotFoundError, Turbopuffer

@pytest.fixture
def namespace():
    with Turbopuffer() as client:
        yield client.namespace("shown")

def test_a_write_is_taken(namespace):
    schema = {"vector": {"type": "[1]f32", "ann": True}}
    rows = [{"id": "1", "vector": [2.0]}]
    namespace.write(upsert_rows=rows, schema=schema, distance_metric="euclidean_squared")

@pytest.mark.parametrize("way", ["asc", "desc"])
def test_order(namespace, way):
    assert namespace.query(rank_by=("id", way), limit=1).rows[0].id == "1"

@pytest.mark.skip
def test_of_another_day(): ...
"""
FOUND = {
    "test_small::test_a_write_is_taken": True,
    "test_small::test_order[asc]": True,
    "test_small::test_order[desc]": False,
}


@pytest.fixture
def sdk(tmp_path: Path) -> Path:
    custom = tmp_path / "tests" / "custom"
    custom.mkdir(parents=True)
    for folder in (custom.parent, custom):
        (folder / "__init__.py").touch()
    (tmp_path / "pyproject.toml").write_text(CONFIG)
    (custom / "test_small.py").write_text(TESTS)
    return tmp_path


def test_each_test_passes_or_fails_against_the_local_server(
    sdk: Path, local_server: LocalServer
) -> None:
    assert outcomes(sdk, Path(sys.executable), local_server.url) == FOUND


def test_tests_that_cannot_be_run_are_no_outcome(sdk: Path, local_server: LocalServer) -> None:
    (sdk / "tests" / "custom" / "test_small.py").write_text("import nothing_of_the_kind")
    with pytest.raises(SdkError, match="nothing_of_the_kind"):
        outcomes(sdk, Path(sys.executable), local_server.url)


def test_only_what_the_list_does_not_say_is_a_surprise() -> None:
    known = {"test_small::test_order[desc]": "another order"}
    assert surprises(FOUND, known) == []
    assert surprises(FOUND, {}) == ["test_small::test_order[desc] fails"]
    mended = dict.fromkeys(FOUND, True)
    assert surprises(mended, known) == ["test_small::test_order[desc] passes: take it off the list"]
    gone = {name: passes for name, passes in FOUND.items() if passes}
    assert surprises(gone, known) == []
    assert list(reported(gone, known)) == [
        "2 of 2 tests pass",
        "  test_small::test_order[desc]: not in this version",
    ]
