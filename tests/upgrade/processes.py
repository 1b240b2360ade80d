"""Functions of two versions, each in a process of its own with its version's code."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.options import ROOT
from tests.upgrade.versions import UpgradeError, Version, plain_environment

_PROGRAM = ROOT / "tests" / "upgrade" / "functions.py"
# Levels that no line of a log may have while two versions work side by side.
_BAD = {"ERROR", "CRITICAL"}
# That a message is left to a later release is fine for some kinds: ``SharedParts.drain`` knows
# them.
_BAD_MESSAGES = {"order failed", "order refused"}
_LEFT = "order of a later release"


@dataclass(frozen=True)
class FunctionProcess:
    """One function of one version; ``log`` has what it printed."""

    name: str
    log: Path
    process: subprocess.Popen[str]

    def invoke(self, event: dict[str, Any]) -> Any:
        """The function's answer. Raises UpgradeError with the trace when it raises."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(event) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise UpgradeError(f"{self.name} ended: {self.log.read_text()[-2_000:]}")
        reported = json.loads(line)
        if "raised" in reported:
            raise UpgradeError(f"{self.name} raised:\n{reported['raised'][-2_000:]}")
        return reported["answer"]

    def complaints(self) -> list[str]:
        """What its log holds that should not be there, shortened, each once."""
        reported = map(_complaint, self.log.read_text("utf-8").splitlines())
        return [f"{self.name}: {line}" for line in dict.fromkeys(reported) if line]


def _complaint(line: str) -> str | None:
    """What is bad in a line: its message, code and detail, and where an error came from."""
    if line.startswith("Traceback"):
        return "a trace, in its log"
    try:
        said = json.loads(line)
    except ValueError:
        return None
    if not isinstance(said, dict):
        return None
    message = said.get("message")
    if message == _LEFT or (said.get("level") not in _BAD and message not in _BAD_MESSAGES):
        return None
    known = [str(said[name]) for name in ("message", "code", "detail") if said.get(name)]
    trace = str(said.get("trace") or said.get("exception") or "").strip().splitlines()
    return ": ".join([*known, *(each.strip() for each in trace[-3:])])[:600]


@contextmanager
def functions_of(
    version: Version, references: Mapping[str, str], more: Mapping[str, str], logs: Path
) -> Iterator[dict[str, FunctionProcess]]:
    """Every function of a version, in the environment of its own template.

    ``references`` is what names of the template stand for, ``more`` what Lambda or AWS gives.
    What calls them (``local``) is today's; all that is deployed is the version's.
    """
    paths = {"PYTHONPATH": f"{version.root / 'shared'}:{ROOT}"}
    with ExitStack() as open_:
        running = {}
        for name, spec in version.functions.items():
            log = logs / f"{version.name.replace('/', '-')}-{name}.log"
            environment = {
                **plain_environment(),
                **version.variables(spec, references),
                **more,
                **paths,
            }
            process = subprocess.Popen(  # noqa: S603 - our own program
                [version.python, "-P", _PROGRAM, version.root / "template.yaml", name],
                cwd=version.root,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=open_.enter_context(log.open("w")),
                text=True,
            )
            open_.callback(_end, process)
            running[name] = FunctionProcess(f"{version.name} {name}", log, process)
        yield running


def _end(process: subprocess.Popen[str]) -> None:
    with process:
        process.terminate()
