"""Searches for one regular expression: a program of its own, because RE2 cannot be interrupted.

    python -I -S re2_worker.py FOLDER_OF_RE2

It reads frames from its standard input and writes frames to its output: four bytes of length, then
so many bytes. First ``ready``, then the answer to the pattern, then answers to lists of texts. It
ends when its input does, or by the alarm while it works longer than it may.
"""

from __future__ import annotations

import json
import resource
import signal
import struct
import sys
from array import array
from typing import Any

_LENGTH = struct.Struct("<I")
# An answer to a text: why it is refused, matches without characters; then the offsets.
_ANSWER = struct.Struct("<II")
_REFUSED = (None, "part_of_character", "too_many")
_IN_CHARACTER = bytes(range(0x80, 0xC0))
_COUNTED_BYTES = 1 << 20
_BEFORE_PATTERN = "(?m)"
# A pattern that breaks out of RE2 gets no more memory, files or processes.
_LIMITS = {resource.RLIMIT_AS: 1 << 30, resource.RLIMIT_NOFILE: 16, resource.RLIMIT_NPROC: 0}


def main() -> None:
    sys.path.append(sys.argv[1])
    import re2  # noqa: PLC0415 - lies in a folder that is named by an argument

    for limit, most in _LIMITS.items():
        resource.setrlimit(limit, (most, most))
    _write(b"ready")
    asked = json.loads(_read())
    signal.setitimer(signal.ITIMER_REAL, asked["timeout_s"])
    options = re2.Options()
    options.log_errors = False
    options.max_mem = asked["max_memory"]
    options.case_sensitive = asked["case_sensitive"]
    try:
        pattern = re2.compile(_BEFORE_PATTERN + asked["pattern"], options)
    except re2.error as error:
        _write_json(_refusal(re2, asked["pattern"], options, _message(error)))
        return
    signal.setitimer(signal.ITIMER_REAL, 0)
    source = asked["pattern"]
    names = {name: group for name, group in pattern.groupindex.items() if _is_once(name, source)}
    _write_json({"groups": pattern.groups, "names": names, "program": pattern.programsize})
    while asked := _read():
        _answer(pattern, json.loads(asked))


def _answer(pattern: Any, asked: dict[str, Any]) -> None:
    texts = [_read_text() for _ in range(asked["texts"])]
    for text in texts:
        signal.setitimer(signal.ITIMER_REAL, asked["timeout_s"])
        search = Search(pattern, text, asked["groups"], asked["max_spans"])
        refused = search.run()
        signal.setitimer(signal.ITIMER_REAL, 0)  # who reads the answer may take its time
        _write(_ANSWER.pack(_REFUSED.index(refused), search.empty) + search.offsets.tobytes())


class Search:
    """All matches in one text (UTF-8), their places counted in code points."""

    def __init__(self, pattern: Any, text: bytearray, groups: list[int], max_spans: int) -> None:
        self.offsets = array("i")
        self.empty = 0
        self._pattern = pattern
        self._text = text
        self._groups = [0, *groups]
        self._most = max_spans * 2
        # The last place that was counted: bytes, code points.
        self._counted = (0, 0)

    def run(self) -> str | None:
        """Returns why the text is refused, if it is."""
        text, at = self._text, 0
        while at <= len(text) and (match := self._pattern.search(text, at)):
            start, end = match.span()
            if self._is_inside(start) or self._is_inside(end):
                return "part_of_character"
            if start == end:
                self.empty += 1
                at = self._behind(end)
                continue
            spans = [match.span(group) for group in self._groups]
            if any(self._is_inside(place) for span in spans for place in span):
                return "part_of_character"
            if len(self.offsets) + 2 * len(spans) > self._most:
                return "too_many"
            self._note(spans)
            at = end
        return None

    def _is_inside(self, place: int) -> bool:
        return 0 < place < len(self._text) and self._text[place] & 0xC0 == 0x80

    def _behind(self, place: int) -> int:
        """The place behind the character that begins at ``place``."""
        place += 1
        while self._is_inside(place):
            place += 1
        return place

    def _note(self, spans: list[tuple[int, int]]) -> None:
        """From match to match, so that every byte is counted once; groups may lie in any order."""
        characters = {-1: -1}
        for place in sorted({place for span in spans for place in span if place >= 0}):
            characters[place] = self._characters(place)
        self.offsets.extend(characters[place] for span in spans for place in span)

    def _characters(self, place: int) -> int:
        byte, count = self._counted
        view = memoryview(self._text)
        for begin in range(byte, place, _COUNTED_BYTES):
            piece = bytes(view[begin : min(place, begin + _COUNTED_BYTES)])
            count += len(piece.translate(None, _IN_CHARACTER))
        self._counted = (place, count)
        return count


def _refusal(re2: Any, pattern: str, options: Any, message: tuple[str, str]) -> dict[str, object]:
    """Says what is wrong, and after how many characters of the pattern that shows.

    RE2 gives no place, and quotes the pattern. What is wrong with it is wrong with every longer
    beginning of it, except for what its end lacks.
    """
    kind, quoted = message
    quotes_all = quoted == _BEFORE_PATTERN + pattern
    lowest, highest = 0, len(pattern)
    while not kind.startswith(("missing", "trailing")) and lowest < highest:
        middle = (lowest + highest) // 2
        try:
            re2.compile(_BEFORE_PATTERN + pattern[:middle], options)
            is_same = False
        except re2.error as error:
            other, quoted_there = _message(error)
            is_same = other == kind and (quotes_all or quoted_there == quoted)
        lowest, highest = (lowest, middle) if is_same else (middle + 1, highest)
    return {"refused": kind, "position": highest}


def _message(error: Exception) -> tuple[str, str]:
    """What is wrong in RE2's words, and what it quotes of the pattern."""
    message = error.args[0]
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    kind, _, quoted = text.partition(": ")
    return kind, quoted


def _is_once(name: str, pattern: str) -> bool:
    return pattern.count(f"?P<{name}>") + pattern.count(f"?<{name}>") == 1


def _read_text() -> bytearray:
    text = bytearray()
    while piece := _read():
        text += piece
    return text


def _read() -> bytes:
    """Returns the next frame; an empty one at the end of the input."""
    head = sys.stdin.buffer.read(_LENGTH.size)
    return sys.stdin.buffer.read(*_LENGTH.unpack(head)) if len(head) == _LENGTH.size else b""


def _write_json(answer: dict[str, object]) -> None:
    _write(json.dumps(answer).encode())


def _write(payload: bytes) -> None:
    sys.stdout.buffer.write(_LENGTH.pack(len(payload)) + payload)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
