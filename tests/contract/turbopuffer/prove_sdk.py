"""Runs the tests of turbopuffer's own Python SDK against the local server.

``make test-turbopuffer-sdk SDK=path/to/turbopuffer-python`` (a clone, or its source distribution).
They need an environment of their own: that of the SDK, in its ``.venv``. Ends with 1 where a test
fails that is not listed here, and where one of the list has begun to pass.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.contract.turbopuffer.targets import KEY, running

FOLDER = "tests/custom"
_UNDECLARED = "writes numbers as ids, and attributes without a schema"
_FOLLOWS = "reads what a test has written that is not carried out here"
_ANALYSIS = "searches plain text, with stemming and stop words"
KNOWN: Mapping[str, str] = {
    "test_async::test_order_by_attribute": _UNDECLARED,
    "test_async::test_exists": _UNDECLARED,
    "test_bm25::test_bm25": _ANALYSIS,
    "test_bm25::test_bm25_product_operator": _ANALYSIS,
    "test_bm25::test_bm25_ContainsAllTokens": _ANALYSIS,
    "test_bm25::test_bm25_pre_tokenized_array": _UNDECLARED,
    "test_compression::test_compression_disabled_by_default": _UNDECLARED,
    "test_compression::test_async_compression_disabled_by_default": _UNDECLARED,
    "test_compression::test_compression_enabled_large_request": _UNDECLARED,
    "test_compression::test_compression_enabled_small_request": _UNDECLARED,
    "test_compression::test_async_compression_enabled_large_request": _UNDECLARED,
    "test_compression::test_async_compression_enabled_small_request": _UNDECLARED,
    "test_copy_from_namespace::test_copy_from_namespace": "copies a namespace",
    "test_namespace::test_namespace_hint_cache_warm": "warms a cache, and there is none",
    "test_no_cmek::test_no_cmek": "names a key to encrypt with",
    "test_order_by::test_order_by_attribute": _UNDECLARED,
    "test_patch::test_patches": "changes parts of documents",
    "test_performance::test_perf_metrics": _UNDECLARED,
    "test_schema::test_schema": _UNDECLARED,
    "test_vectors::test_upsert_rows": _UNDECLARED,
    "test_vectors::test_delete_vectors": _FOLLOWS,
    "test_vectors::test_upsert_columns": "writes columns instead of rows",
    "test_vectors::test_query_vectors": _FOLLOWS,
    "test_vectors::test_delete_all": _FOLLOWS,
    "test_vectors::test_string_ids": "writes columns instead of rows",
    "test_vectors::test_attribute_types": _UNDECLARED,
    "test_vectors::test_not_found_error": "says top_k for limit",
    "test_vectors::test_list_in_empty_namespace": _UNDECLARED,
    "test_vectors::test_delete_by_filter": _UNDECLARED,
    "test_vectors::test_upsert_base64_vectors": _UNDECLARED,
    "test_vectors::test_query_vectors_vector_encoding_format": _UNDECLARED,
    "test_vectors::test_exists": _UNDECLARED,
}
"""Tests of 3.1.0 that cannot pass here, by the end of their module's name, and why.

The server has what context-search calls (docs/decisions/0027-less-of-the-local-stack.md). What
they expect of that, the tests beside this file expect too, of writes that it takes.
"""


class SdkError(Exception):
    """The tests did not run."""


def outcomes(sdk: Path, python: Path, url: str) -> dict[str, bool]:
    """Whether each test passes that is not skipped, against the server at ``url``."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}  # noqa: TID251
    asked = {"TURBOPUFFER_BASE_URL": url, "TURBOPUFFER_API_KEY": KEY}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        # One process: its tests lean on the order in which they are written.
        options = [
            "-q",
            "-p",
            "no:randomly",
            "-p",
            "no:cacheprovider",
            "-o",
            "addopts=",
            f"--rootdir={sdk}",
        ]
        done = subprocess.run(  # noqa: S603 - what the caller names
            [python, "-m", "pytest", FOLDER, *options, f"--junitxml={report}"],
            cwd=sdk,
            env=kept | asked,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 1):  # pytest's: all passed, some failed
            raise SdkError(f"{done.stdout[-2_000:]}{done.stderr[-2_000:]}".strip())
        return dict(_cases(ET.parse(report).getroot()))  # noqa: S314 - pytest has just written it


def _cases(report: ET.Element) -> Iterator[tuple[str, bool]]:
    for case in report.iter("testcase"):
        if case.find("skipped") is None:
            module = case.attrib["classname"].removeprefix(f"{FOLDER.replace('/', '.')}.")
            failed = case.find("failure") is not None or case.find("error") is not None
            yield f"{module}::{case.attrib['name']}", not failed


def surprises(found: Mapping[str, bool], known: Mapping[str, str]) -> list[str]:
    """What is otherwise than the list says, a line each."""
    failed = [f"{test} fails" for test, passes in found.items() if not passes and test not in known]
    mended = [f"{test} passes: take it off the list" for test in known if found.get(test)]
    return failed + mended


def reported(found: Mapping[str, bool], known: Mapping[str, str]) -> Iterator[str]:
    """The outcome in lines: how many pass, and why the others do not."""
    yield f"{sum(found.values())} of {len(found)} tests pass"
    for test, reason in known.items():
        yield f"  {test}: {reason if test in found else 'not in this version'}"


def main() -> None:
    """Runs them; ends with 1 and a line for each surprise."""
    parser = argparse.ArgumentParser(prog="python -m tests.contract.turbopuffer.prove_sdk")
    parser.add_argument("sdk", type=Path, help="folder of the SDK's source")
    sdk = parser.parse_args().sdk.resolve()
    python = sdk / ".venv" / "bin" / "python"
    if not (sdk / FOLDER).is_dir() or not python.exists():
        sys.exit(f"{sdk} has no {FOLDER}, or no .venv to run them with")
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as server:
        try:
            found = outcomes(sdk, python, server.url)
        except SdkError as error:
            sys.exit(f"the tests did not run:\n{error}")
    if lines := surprises(found, KNOWN):
        sys.exit("\n".join(lines))


if __name__ == "__main__":
    main()
