"""Built functions as Lambda runs them: by its own runtime client, in a jail like its environment.

Read-only ``/var/task``, ``/opt`` and ``/var/runtime``, ``/tmp`` of 512 MB, no ``/dev/shm``, no
home, another user, the memory of the template. What this machine does not allow
is left out and told.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self

from local.invocation import REGION
from local.processes import tail
from local.runtime_api import Report, RuntimeApi

_SCRIPT = Path(__file__).with_suffix(".sh")
_USER = (993, 990)  # as on Lambda
_ANSWER_S = 900.0  # of a busy machine, or an emulated one
_STOP_S = 10.0
_LOOK_S = 0.2
_CGROUPS = (
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
    (Path("/sys/fs/cgroup"), "memory.max"),
)


class FunctionError(Exception):
    """The function failed, or its process ended; the message says how."""


@dataclass(frozen=True, slots=True)
class BuiltFunction:
    """A function as it was built: its code, what ``/opt`` holds, and its limits."""

    name: str
    task: Path
    opt: Path
    memory_mb: int = 1769
    timeout_s: int = 29
    handler: str = "app.lambda_handler"


@dataclass(frozen=True, slots=True)
class Means:
    """What this machine lets us do; ``cgroup`` None: resource limits only."""

    unshare: tuple[str, ...] = ()
    user: bool = False
    cgroup: tuple[Path, str] | None = None

    @classmethod
    @cache
    def of_this_machine(cls) -> Self:
        """Tries each of them."""
        ways = ((), ("--user", "--map-root-user"))
        commands = [("unshare", *way, "--mount", "--propagation", "private") for way in ways]
        unshare = next((each for each in commands if _works(*each, *_MOUNTS)), ())
        cgroup = next((each for each in _CGROUPS if _can_limit(*each)), None)
        return cls(unshare, os.getuid() == 0 and "--user" not in unshare, cgroup)

    def missing(self) -> list[str]:
        """What could not be jailed, a sentence each."""
        reported = {
            "no mount namespace: folders are neither read-only nor hidden": not self.unshare,
            "no other user: the functions run as the user of this command": not self.user,
            "no cgroup: memory is limited for each process, by RLIMIT_DATA": not self.cgroup,
        }
        return [sentence for sentence, is_so in reported.items() if is_so]


_MOUNTS = ("mount", "-t", "tmpfs", "try", "/tmp")  # noqa: S108 - in a namespace of its own


def _works(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _can_limit(root: Path, limit: str) -> bool:
    try:
        with _cgroup(root, limit, 64):
            return True
    except OSError:
        return False


@contextmanager
def _cgroup(root: Path, limit: str, memory_mb: int) -> Iterator[Path]:
    group = Path(tempfile.mkdtemp(prefix="context-search-", dir=root))
    try:
        (group / limit).write_text(str(memory_mb << 20))
        yield group
    finally:
        group.rmdir()


@dataclass(frozen=True, slots=True)
class Arm64:
    """Lambda's processor emulated: a system for it, and the program that runs its programs."""

    system: Path
    emulator: Path

    # Graviton2's. The default emulates pointer authentication too, and takes twenty times as long.
    variables: ClassVar = {"QEMU_CPU": "neoverse-n1"}
    python: ClassVar = Path("/usr/bin/python3.13")

    @classmethod
    def in_folder(cls, folder: Path) -> Self:
        """Fetches both where they are not there. Raises FunctionError, saying what is missing."""
        script = str(_SCRIPT.with_name("arm64_system.sh"))
        ran = subprocess.run([script, str(folder)], stderr=subprocess.PIPE, text=True, check=False)
        if ran.returncode:
            raise FunctionError(ran.stderr)
        return cls(folder / "system", folder / "qemu")


@dataclass(frozen=True, slots=True)
class Jail:
    """Where functions run: an interpreter, the folder of ``/var/runtime``, and the means.

    ``python`` is a path in ``arm64``'s system where that is given.
    """

    python: Path
    runtime: Path
    means: Means
    arm64: Arm64 | None = None

    @contextmanager
    def running(
        self, function: BuiltFunction, variables: Mapping[str, str], log: Path
    ) -> Iterator[LambdaEnvironment]:
        """A cold environment, whose INIT has just ended. Raises FunctionError when it did not."""
        api = RuntimeApi(function.name, function.timeout_s)
        with ExitStack() as parts:
            parts.enter_context(api.running())
            emulation = self.arm64.variables if self.arm64 else {}
            given = {**self._variables(function, api.address), **variables, **emulation}
            process = parts.enter_context(self._process(function, given, log))
            made = LambdaEnvironment(function, api, process, log)
            made.wait_until_ready()
            yield made

    @contextmanager
    def _process(
        self, function: BuiltFunction, variables: Mapping[str, str], log: Path
    ) -> Iterator[subprocess.Popen[bytes]]:
        with ExitStack() as parts:
            group = None
            if self.means.cgroup:
                group = parts.enter_context(_cgroup(*self.means.cgroup, function.memory_mb))
            root = parts.enter_context(tempfile.TemporaryDirectory(prefix="context-search-jail-"))
            output = parts.enter_context(log.open("wb"))
            process = subprocess.Popen(
                self._command(function, root, group),
                cwd=function.task,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            with process:
                try:
                    yield process
                finally:
                    process.kill()

    def _command(self, function: BuiltFunction, root: str, group: Path | None) -> list[str]:
        # Without site: nothing that is installed here is seen, and no .pth file is read.
        client = [str(self.python), "-S", "-m", "awslambdaric", function.handler]
        limit = f"echo $$ > {group}/cgroup.procs" if group else f"ulimit -d {function.memory_mb}000"
        command = ["/bin/sh", "-c", f'{limit}; exec "$@"', "sh"]
        if not self.means.unshare:
            return [*command, *client]
        prefix = self.python.parent.parent
        user = ":".join(map(str, _USER)) if self.means.user else ""
        system = (self.arm64.system, self.arm64.emulator) if self.arm64 else ("", "")
        shown = [root, function.task, function.opt, self.runtime, prefix, user, *system]
        return [*command, *self.means.unshare, str(_SCRIPT), *map(str, shown), *client]

    def _variables(self, function: BuiltFunction, api: str) -> dict[str, str]:
        """What Lambda sets beside the variables of the template."""
        task, opt, runtime = ("/var/task", "/opt", "/var/runtime")
        if not self.means.unshare:
            task, opt, runtime = map(str, (function.task, function.opt, self.runtime))
        return {
            "AWS_LAMBDA_RUNTIME_API": api,
            "AWS_LAMBDA_FUNCTION_NAME": function.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_mb),
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_LOG_FORMAT": "JSON",
            "AWS_LAMBDA_LOG_LEVEL": "INFO",
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": "local",
            "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "_HANDLER": function.handler,
            "LAMBDA_TASK_ROOT": task,
            "LAMBDA_RUNTIME_DIR": runtime,
            "PYTHONPATH": f"{task}:{opt}/python:{runtime}",
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "LANG": "en_US.UTF-8",
            "TZ": ":UTC",
        }


class LambdaEnvironment:
    """One execution environment: a process that answers one event after the other."""

    def __init__(
        self,
        function: BuiltFunction,
        api: RuntimeApi,
        process: subprocess.Popen[bytes],
        log: Path,
    ) -> None:
        self.function = function
        self.log = log
        self._api = api
        self._process = process

    @property
    def cpu_s(self) -> float:
        """CPU seconds of the process until now, threads that have ended included."""
        # Linux' number of another process' clock, see clock_getcpuclockid(3).
        return time.clock_gettime((~self._process.pid << 3) | 2)

    @property
    def peak_mb(self) -> float:
        """The most memory that was resident, in MB."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        [line] = [each for each in status.splitlines() if each.startswith("VmHWM")]
        return int(line.split()[1]) / 1024

    def wait_until_ready(self) -> None:
        """Returns when the client asks for an event. Raises FunctionError when it ends first."""
        self._expect("next")

    def invoke(self, event: Any) -> Any:
        """The answer to an event. Raises FunctionError when the function raised or ended."""
        self._api.give(event)
        answer = self._expect("response").body
        self.wait_until_ready()
        return answer

    def written(self) -> list[str]:
        """The files in the ``/tmp`` of the jail, from outside of it."""
        tmp = Path("/proc", str(self._process.pid), "root", "tmp")  # as the process itself sees it
        return sorted(str(path.relative_to(tmp)) for path in tmp.rglob("*"))

    def _expect(self, kind: str) -> Report:
        until = time.monotonic() + _ANSWER_S
        while (report := self._api.report(_LOOK_S)) is None:
            if self._process.poll() is not None:
                raise self._failure(f"ended with {self._process.returncode}")
            if time.monotonic() > until:
                raise self._failure("did not answer")
        if report.kind != kind:
            raise self._failure(f"{report.kind}: {report.body}")
        return report

    def _failure(self, what: str) -> FunctionError:
        return FunctionError(f"{self.function.name} {what}. The end of its log:\n{tail(self.log)}")


def merged(layers: Sequence[Path], target: Path) -> Path:
    """Makes ``target`` what ``/opt`` is with these layers: of two files of a name the later one."""
    shutil.rmtree(target, ignore_errors=True)
    for layer in layers:
        shutil.copytree(layer, target, dirs_exist_ok=True, copy_function=_link)
    return target


def _link(source: str, target: str) -> None:
    Path(target).unlink(missing_ok=True)
    os.link(source, target)
