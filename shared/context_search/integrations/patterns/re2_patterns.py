"""Regular expressions of callers: RE2 in a process of its own, which is killed at its deadline.

RE2 takes linear time, and yet minutes for some patterns; nothing interrupts a call. So the process
that answers requests never loads it. The other one (``re2_worker.py``) has an empty environment, no
open file but its pipes, and no life of its own: it ends with its pattern. Nor can it read the
environment or the memory of this one, which is of the same user.
"""

from __future__ import annotations

import json
import select
import struct
import subprocess
import sys
import sysconfig
import time
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain
from os import read, set_blocking, write
from pathlib import Path
from typing import IO, Any

from context_search.core.errors import (
    PatternInvalidError,
    PatternTooComplexError,
    PatternTooSlowError,
    TooManyMatchesError,
)
from context_search.text.batches import BATCH_CHARS, batches
from context_search.text.pattern_matches import MAX_SPANS, PatternMatches

MAX_PROGRAM = 5_000
"""Maximum number of instructions of a pattern's program."""
MAX_GROUPS = 99
MAX_MEMORY_BYTES = 8 << 20
"""What RE2 may take for a pattern and its states."""
MAX_KILLED = 3
"""So many texts that take too long are the end of the search."""
_START_S = 20.0
"""A process starts in 0.1 s, on a busy machine in seconds."""
_READ_BYTES = 1 << 16
_LENGTH = struct.Struct("<I")
# The answer to a text begins with why it is refused, and matches without characters.
_ANSWER = struct.Struct("<II")
_PART_OF_CHARACTER, _TOO_MANY = 1, 2
_SET_DUMPABLE = 4  # <sys/prctl.h>
_WORKER = Path(__file__).with_name("re2_worker.py")
# What RE2 says of patterns, word for word; its messages also quote them.
_TOO_LARGE = "pattern too large - compile failed"
_WRONG = {
    "bad repetition operator",
    "invalid character class range",
    "invalid character class",
    "invalid escape sequence",
    "invalid named capture group",
    "invalid perl operator",
    "invalid repetition size",
    "missing )",
    "missing ]",
    "no argument for repetition operator",
    "trailing \\",
    "unexpected )",
}


class Re2Patterns:
    """``Patterns`` by RE2."""

    @property
    def engine(self) -> str:
        return f"re2 {version('google-re2')}"

    @contextmanager
    def compiled(
        self, pattern: str, *, case_sensitive: bool, timeout_s: float
    ) -> Iterator[Re2Pattern]:
        search = Re2Pattern(pattern, case_sensitive=case_sensitive, timeout_s=timeout_s)
        try:
            search.start()
            yield search
        finally:
            search.end()


class Re2Pattern:
    """``CompiledPattern`` in a process; another one where that was killed."""

    def __init__(self, pattern: str, *, case_sensitive: bool, timeout_s: float) -> None:
        self._asked = {
            "pattern": pattern,
            "case_sensitive": case_sensitive,
            "timeout_s": timeout_s,
            "max_memory": MAX_MEMORY_BYTES,
        }
        self._timeout_s = timeout_s
        self._killed = 0
        self._worker: _Worker | None = None
        self._is_searching = self._is_over = False
        self._groups = 0
        self._names: Mapping[str, int] = {}

    @property
    def groups(self) -> int:
        return self._groups

    @property
    def names(self) -> Mapping[str, int]:
        return self._names

    def start(self) -> _Worker:
        """Starts a process and compiles the pattern there."""
        worker = self._worker = _Worker()
        try:
            worker.send([json.dumps(self._asked).encode()], timeout_s=self._timeout_s)
            answer = worker.receive_json(timeout_s=self._timeout_s)
        except _LostError:
            raise PatternTooSlowError("compiling the pattern took too long") from None
        if "refused" in answer:
            raise _refusal(answer["refused"], answer["position"])
        if answer["program"] > MAX_PROGRAM or answer["groups"] > MAX_GROUPS:
            raise PatternTooComplexError("the pattern has too many groups, repeats or alternatives")
        self._groups, self._names = answer["groups"], answer["names"]
        return worker

    def end(self) -> None:
        """Ends the process, whatever it is doing, and the use of this pattern."""
        self._is_over = True
        self._end_worker()

    def matches(
        self, texts: Sequence[str], *, groups: Sequence[int], text_timeout_s: float
    ) -> Iterator[PatternMatches]:
        for batch in batches(texts):
            done = 0
            while done < len(batch):
                try:
                    for matches in self._answers(batch[done:], groups, text_timeout_s):
                        done += 1
                        yield matches
                except _LostError:
                    self._killed += 1
                    if self._killed == MAX_KILLED:
                        message = "the search for the pattern took too long"
                        raise PatternTooSlowError(message) from None
                    done += 1
                    yield PatternMatches(too_slow=True)

    def _answers(
        self, texts: Sequence[str], groups: Sequence[int], timeout_s: float
    ) -> Iterator[PatternMatches]:
        if self._is_over or self._is_searching:
            raise RuntimeError("a pattern is used in its with, for one search after the other")
        worker = self._worker or self.start()
        unanswered, self._is_searching = len(texts), True
        try:
            _ask(worker, texts, groups, timeout_s)
            for _ in texts:
                answer = worker.receive(timeout_s=timeout_s)
                unanswered -= 1
                yield _matches_in(answer, groups)
        finally:
            self._is_searching = False
            if unanswered:  # the next search would take its answers for its own
                self._end_worker()

    def _end_worker(self) -> None:
        if self._worker:
            self._worker.end()
            self._worker = None


def _ask(worker: _Worker, texts: Sequence[str], groups: Sequence[int], timeout_s: float) -> None:
    about = {
        "texts": len(texts),
        "groups": list(groups),
        "timeout_s": timeout_s,
        "max_spans": MAX_SPANS,
    }
    frames = (frame for text in texts for frame in _frames_of(text))
    worker.send(chain([json.dumps(about).encode()], frames), timeout_s=timeout_s)


def _matches_in(answer: bytes, groups: Sequence[int]) -> PatternMatches:
    refused, empty = _ANSWER.unpack_from(answer)
    if refused == _PART_OF_CHARACTER:
        raise PatternInvalidError("the pattern matches parts of characters")
    if refused == _TOO_MANY:
        most = MAX_SPANS // (1 + len(groups))
        raise TooManyMatchesError(f"over {most:,} matches in one string: narrow the scope")
    return PatternMatches(array("i", answer[_ANSWER.size :]), 2 + 2 * len(groups), empty)


def _refusal(kind: str, position: int) -> PatternInvalidError:
    if kind == _TOO_LARGE:
        return PatternTooComplexError("the pattern has too many repeats or alternatives")
    said = f": {kind}" if kind in _WRONG else ""
    return PatternInvalidError(
        f"the pattern is no RE2 expression after {position} characters{said}"
    )


def _frames_of(text: str) -> Iterator[bytes]:
    """Yields a text in UTF-8, piece by piece, and the empty frame that ends it."""
    for at in range(0, len(text), BATCH_CHARS):
        yield text[at : at + BATCH_CHARS].encode()
    yield b""


class _LostError(Exception):
    """The process did not answer in time, or is not there any more."""


class _Worker:
    """A process of ``re2_worker.py``, and frames to it and from it, none later than asked for.

    Each call that fails leaves it useless: end it.
    """

    def __init__(self) -> None:
        found = find_spec("re2")
        if found is None or found.origin is None:
            raise RuntimeError("google-re2 is not installed")
        folder = Path(found.origin).parents[1]
        _close_to_other_processes()
        self._process = subprocess.Popen(  # noqa: S603 - our own program; patterns go to its input
            [sys.executable, "-I", "-S", str(_WORKER), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # RE2 and Python would quote patterns and texts
            env=_environment(),
            cwd="/",
        )
        self._got = bytearray()
        self._input, self._output = _pipe(self._process.stdin), _pipe(self._process.stdout)
        try:
            self.receive(timeout_s=_START_S)
        except BaseException as error:
            self.end()
            if isinstance(error, _LostError):
                raise RuntimeError("the process for patterns does not start") from None
            raise

    def send(self, frames: Iterable[bytes], *, timeout_s: float) -> None:
        """Writes frames, many short ones at once. Raises _LostError."""
        ends_at = time.monotonic() + timeout_s
        waiting = bytearray()
        for frame in frames:
            waiting += _LENGTH.pack(len(frame)) + frame
            if len(waiting) >= BATCH_CHARS:
                self._write(bytes(waiting), ends_at)
                waiting.clear()
        self._write(bytes(waiting), ends_at)

    def _write(self, waiting: bytes, ends_at: float) -> None:
        rest = memoryview(waiting)
        while rest:
            _wait(self._input, select.POLLOUT, ends_at)
            try:
                rest = rest[write(self._input, rest) :]
            except OSError:
                raise _LostError from None

    def receive(self, *, timeout_s: float) -> bytes:
        """Reads one frame. Raises _LostError."""
        ends_at = time.monotonic() + timeout_s
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size, ends_at))
        return self._exactly(length, ends_at)

    def receive_json(self, *, timeout_s: float) -> dict[str, Any]:
        """Reads one frame of JSON. Raises _LostError."""
        answer: dict[str, Any] = json.loads(self.receive(timeout_s=timeout_s))
        return answer

    def end(self) -> None:
        """Kills the process and waits until nothing is left of it."""
        with self._process:  # closes the pipes, and waits
            self._process.kill()

    def _exactly(self, length: int, ends_at: float) -> bytes:
        while len(self._got) < length:
            _wait(self._output, select.POLLIN, ends_at)
            piece = read(self._output, max(_READ_BYTES, length - len(self._got)))
            if not piece:
                raise _LostError
            self._got += piece
        frame = bytes(self._got[:length])
        del self._got[:length]
        return frame


def _close_to_other_processes() -> None:
    """Takes ``/proc/<this process>/environ`` and ``mem`` from other processes of the same user.

    Elsewhere than on Linux there is no such folder. See prctl(2), ``PR_SET_DUMPABLE``.
    """
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - most processes never search for a pattern

        if ctypes.CDLL(None, use_errno=True).prctl(_SET_DUMPABLE, 0, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "this process cannot be closed to others")


def _environment() -> dict[str, str]:
    """No secrets of ours; Lambda's Python finds its own library by this variable."""
    return {"LD_LIBRARY_PATH": str(sysconfig.get_config_var("LIBDIR") or "")}


def _pipe(end: IO[bytes] | None) -> int:
    if end is None:
        raise RuntimeError("the process for patterns has no pipes")
    set_blocking(end.fileno(), False)
    return end.fileno()


def _wait(pipe: int, event: int, ends_at: float) -> None:
    """Returns when a pipe is ready, or its other end is gone."""
    poll = select.poll()
    poll.register(pipe, event)
    if not poll.poll(max(0.0, ends_at - time.monotonic()) * 1000):
        raise _LostError
