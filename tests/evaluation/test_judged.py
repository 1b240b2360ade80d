"""Judged sets as people write them: read, or refused with the place of what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from context_search.ranking.measures import TextRange
from evaluation.__main__ import main
from evaluation.jsonl import UnreadableError
from evaluation.judged import SHIPPED, read_set, read_sets

CORPUS = {"doc_id": "a/b", "document": {"body": "red\r\ndoor", "rows": ["x"]}}
RANGE = {"doc_id": "a/b", "json_pointer": "/body", "char_start": 0, "char_end": 3}
QUERY = {"text": "which?", "lang": "en", "relevant": [RANGE]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "corpus.jsonl", CORPUS)
    write(tmp_path / "queries.jsonl", QUERY)
    return tmp_path


def write(path: Path, *rows: object, end: str = "\n") -> None:
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_bytes("".join(f"{line}{end}" for line in lines).encode())


def test_the_shipped_sets_have_thirty_questions_or_more_each() -> None:
    counts = {judged.name: len(judged.questions) for judged in read_sets(SHIPPED)}
    assert counts == {"cross_en_on_zh": 30, "cross_zh_on_en": 30, "en": 30, "keyed": 40, "zh": 30}


def test_pointers_begin_at_the_document_of_the_set(folder: Path) -> None:
    judged = read_set(folder)
    assert judged.questions[0].gold == (TextRange("/a~1b/body", 0, 3),)
    assert read_sets(folder) == [judged]


def test_windows_line_ends_unknown_fields_and_a_byte_order_mark_do_no_harm(folder: Path) -> None:
    expected = read_set(folder)
    more = {**QUERY, "id": 7, "evidence": None, "meta": {"a": [1]}}
    write(folder / "queries.jsonl", f"\ufeff{json.dumps(more)}", "", end="\r\n")
    assert read_set(folder) == expected


def test_a_line_separator_inside_a_text_ends_no_line(folder: Path) -> None:
    write(folder / "corpus.jsonl", {"doc_id": "a/b", "document": {"body": "red\u2028door"}})
    assert read_set(folder).document["a/b"] == {"body": "red\u2028door"}


def test_questions_without_a_range_are_left_out_and_counted(folder: Path) -> None:
    write(folder / "queries.jsonl", {"text": "no answer", "relevant": []}, QUERY)
    judged = read_set(folder)
    assert (len(judged.questions), judged.unjudged, judged.language) == (1, 1, "en")


def test_other_questions_about_the_same_documents_are_a_set_of_their_own(folder: Path) -> None:
    write(folder / "queries_long.jsonl", {**QUERY, "text": "long " * 400})
    [judged] = read_sets(folder, "queries_long.jsonl")
    assert judged.name == f"{folder.name} queries_long"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("{", "line 2"),
        ("[]", "no JSON object"),
        ("[" * 100_000, "line 2"),
        ({**QUERY, "text": 1}, "text must be a string"),
        ({"text": "which?"}, "relevant must be an array of objects"),
        ({**QUERY, "relevant": ["a"]}, "relevant must be an array of objects"),
        ({**QUERY, "relevant": [{**RANGE, "doc_id": "b"}]}, "no '/body' in 'b'"),
        ({**QUERY, "relevant": [{**RANGE, "json_pointer": "body"}]}, "no 'body' in 'a/b'"),
        ({**QUERY, "relevant": [{**RANGE, "json_pointer": "/rows/1"}]}, "no '/rows/1' in"),
        ({**QUERY, "relevant": [{**RANGE, "json_pointer": "/rows"}]}, "is no text of 3 char"),
        ({**QUERY, "relevant": [{**RANGE, "char_end": 10}]}, "is no text of 10 char"),
        ({**QUERY, "relevant": [{**RANGE, "char_end": 0}]}, "no range of characters"),
        ({**QUERY, "relevant": [{**RANGE, "char_start": "0"}]}, "no range of characters"),
        ({**QUERY, "relevant": [{**RANGE, "char_start": True}]}, "no range of characters"),
    ],
)
def test_a_question_that_cannot_be_judged_is_named(
    folder: Path, query: object, reason: str
) -> None:
    write(folder / "queries.jsonl", QUERY, query)
    with pytest.raises(UnreadableError, match=r"queries\.jsonl, line 2") as refused:
        read_set(folder)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([CORPUS, CORPUS], "twice"),
        ([{"doc_id": "a/b"}], "line 1: document is missing"),
        ([{"doc_id": 1, "document": ""}], "line 1: doc_id must be a string"),
        ([r'{"doc_id": "a", "document": "half \ud800"}'], "line 1: .*surrogates not allowed"),
    ],
)
def test_a_corpus_that_cannot_be_searched_is_named(
    folder: Path, rows: list[object], reason: str
) -> None:
    write(folder / "corpus.jsonl", *rows)
    with pytest.raises(UnreadableError, match=reason):
        read_set(folder)


def test_what_is_missing_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "queries.jsonl")
    assert main(["run", "--sets", str(folder)]) == 2
    assert main(["run", "--sets", str(folder / "nowhere")]) == 2
    (folder / "corpus.jsonl").unlink()
    assert main(["run", "--sets", str(folder)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert [line.startswith("not measured: ") for line in said] == [True] * 3
    assert "corpus.jsonl" in said[2]
