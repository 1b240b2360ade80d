"""What the demo says of a document of somebody's own, and of what was found in it."""

from __future__ import annotations

import io
import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from local.demo.__main__ import walk_of
from local.demo.documents import read_document, sizes
from local.demo.replacing import show_plan
from local.demo.show import nothing_to_find, show_answer

LINES = '{"a": 1}\n{"a": "\u2028"}\n'
PLACE = {"json_pointer": "/a[0]", "char_start": 1_200, "char_end": 1_900}


def written(folder: Path, content: bytes) -> Path:
    file = folder / "my.json"
    file.write_bytes(content)
    return file


def shown(answer: dict[str, Any]) -> str:
    console = Console(file=io.StringIO(), width=100, color_system=None)
    show_answer(console, answer)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_document_is_read_with_and_without_a_byte_order_mark(tmp_path: Path, mark: bytes) -> None:
    text = '{"a": "港"}'.encode()
    assert read_document(written(tmp_path, mark + text)) == ({"a": "港"}, text)


@pytest.mark.parametrize("text", [b'{"a": "x\\ud800"}', b'{"a": "first", "a": "second"}'])
def test_what_only_the_server_refuses_is_sent_as_it_is(tmp_path: Path, text: bytes) -> None:
    _, content = read_document(written(tmp_path, text))
    assert content == text


@pytest.mark.parametrize("text", [LINES, LINES.replace("\n", "\r\n"), LINES + "\n\n"])
def test_json_lines_are_told_from_what_is_no_json(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"is not JSON: .* in line 2; it is JSON Lines"):
        read_document(written(tmp_path, text.encode()))


@pytest.mark.parametrize(
    "content", [b"", b" \n", b"{", b'{"a": 1}\nb', b"\xff", b"[" * 100_000 + b"]" * 100_000]
)
def test_what_is_no_json_is_not_called_json_lines(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ValueError, match=r"my\.json is not") as refused:
        read_document(written(tmp_path, content))
    assert "JSON Lines" not in str(refused.value)


def test_a_document_without_a_question_is_asked_for_one(tmp_path: Path) -> None:
    file = written(tmp_path, b"{}")
    with pytest.raises(ValueError, match="say what to look for"):
        walk_of(Namespace(file=file, ask=None, threshold=10))
    asked = walk_of(Namespace(file=file, ask=["where?"], threshold=10))
    assert (asked.document, asked.questions, asked.threshold) == ({}, ["where?"], 10)


def test_strings_are_counted_and_measured_wherever_they_are() -> None:
    document = {"a": ["x" * 10_000, {"b": "y" * 9_999}, 1, None], "c": "z" * 20_000}
    assert sizes(document) == (3, 2, 20_000)
    assert sizes("x") == (1, 0, 1)
    assert sizes([]) == (0, 0, 0)


@pytest.mark.parametrize(
    ("hint", "longest", "said"),
    [
        (
            "no_long_strings",
            1_200,
            "the longest string has 1,200 characters, and those from 10,000",
        ),
        ("no_long_strings", 1_200, "try THRESHOLD=600"),
        ("no_long_strings", 1, "try THRESHOLD=1"),
        ("no_long_strings", 0, "no string with a character in it"),
        ("nothing_indexed", 20_000, "blank, or longer than a string may be"),
    ],
)
def test_what_has_nothing_to_find_says_why(hint: str, longest: int, said: str) -> None:
    assert said in str(nothing_to_find(hint, longest=longest, threshold=10_000))
    assert nothing_to_find(None, longest=longest, threshold=10_000) is None
    assert "THRESHOLD" not in str(nothing_to_find("no_long_strings", longest=0, threshold=10))


def test_a_hit_says_how_good_it_is_and_where_it_is() -> None:
    chunk = {**PLACE, "chunk_text": "left out " * 60 + "the harbour\nin winter " + "behind " * 90}
    hit = {"score": 0.98765, "relevance": 0.876, "json_path": "/a[0]", "chunk": chunk}
    text = shown({"query": "harbour [bold]", "results": [hit]})
    assert " harbour [bold] " in text
    assert "1. relevance 0.88  score 0.988" in text
    assert "/a[0], characters 1,200 to 1,900" in text
    assert "the harbour in winter" in " ".join(text.split())
    assert text.count("…") == 2  # only the part around what was asked for


def test_no_hit_says_so() -> None:
    assert "nothing found: no_match" in shown({"query": "q", "results": [], "hint": "no_match"})
    assert "nothing found" in shown(json.loads('{"query": "q", "results": []}'))
    root = {"score": 1.0, "relevance": 1.0, "json_path": "", "chunk": {**PLACE, "chunk_text": "a"}}
    assert "(the root)" in shown({"query": "q", "results": [root]})


def test_a_preview_is_shown_as_a_diff_on_single_lines() -> None:
    match = {**PLACE, "before": "before it\n  was ", "found": "old", "becomes": "", "after": " [b]"}
    console = Console(file=io.StringIO(), width=60, color_system=None)
    show_plan(console, {"matches_count": 3, "strings_count": 2, "matches": [match]})
    shown = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert shown == [
        "preview: 3 matches in 2 strings; nothing is changed yet",
        "   /a[0], character 1,200",
        " - before it was old [b]",
        " + before it was  [b]",
        "   and 2 more",
    ]
