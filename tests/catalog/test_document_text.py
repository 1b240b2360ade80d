"""Uploaded documents become the text that Postgres stores, or are refused at the border."""

from __future__ import annotations

import json

import pytest

from context_search.catalog.rules.document_text import document_text
from context_search.catalog.rules.uploads import UploadFormat
from context_search.core.documents import parse_json
from context_search.core.errors import DocumentTooLargeError, InvalidDocumentError


@pytest.mark.parametrize(
    "content",
    ['{"a": [1.10, 1e-400, 18446744073709551616]}', '"中😀"', "null", " [ ] ", '\ufeff{"a":1}'],
)
def test_a_json_document_stays_as_it_is_written(content: str) -> None:
    text = document_text(content.encode(), "json")
    assert text == content.removeprefix("\ufeff")


def test_lines_become_an_array_of_their_values() -> None:
    content = '\ufeff{"a": 1.10}\r\n\n  \n"中\\n"\n[2]\nnull'.encode()
    text = document_text(content, "jsonl")
    assert text == '[{"a": 1.10},"中\\n",[2],null]'
    assert json.loads(text) == [{"a": 1.1}, "中\n", [2], None]


@pytest.mark.parametrize("form", ["json", "jsonl"])
@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_a_file_without_a_value_is_refused(content: bytes, form: UploadFormat) -> None:
    with pytest.raises(InvalidDocumentError):
        document_text(content, form)


@pytest.mark.parametrize("form", ["json", "jsonl"])
@pytest.mark.parametrize(
    "content",
    [b'"\\u0000"', b'{"\\udfff": 1}', b"NaN", b"1" * 1_001, b'"\xff"', b"1 2", b"[" * 200_000],
    ids=lambda content: str(content[:12]),
)
def test_what_a_request_could_not_bring_an_upload_cannot_either(
    content: bytes, form: UploadFormat
) -> None:
    with pytest.raises(InvalidDocumentError):
        document_text(content, form)


def test_a_line_is_one_level_deeper_in_the_document() -> None:
    deep = b"[" * 256 + b"]" * 256
    assert parse_json(document_text(deep, "json").encode()) == parse_json(deep)
    with pytest.raises(InvalidDocumentError):
        document_text(deep, "jsonl")
    parse_json(document_text(deep[1:-1], "jsonl").encode())


def test_a_refusal_names_the_line_and_quotes_nothing() -> None:
    with pytest.raises(InvalidDocumentError) as refusal:
        document_text(b'1\n\n{"canary": oh}\n', "jsonl")
    assert refusal.value.message.startswith("line 3: ")
    assert "canary" not in refusal.value.message


def test_the_numbers_of_all_lines_count_together() -> None:
    line = b"[" + b",".join([b"1e-999"] * 3_500) + b"]\n"
    document_text(line, "jsonl")
    with pytest.raises(DocumentTooLargeError, match=r"^line 2: the numbers"):
        document_text(line * 2, "jsonl")
    with pytest.raises(DocumentTooLargeError, match=r"^the numbers"):
        document_text(b"[%b,%b]" % (line, line), "json")


def test_a_key_that_comes_twice_is_named_with_its_line() -> None:
    with pytest.raises(InvalidDocumentError, match=r"^line 2: an object has the same key twice"):
        document_text(b'{"a": 1}\n{"a": 1, "a": 2}\n', "jsonl")


@pytest.mark.parametrize("form", ["json", "jsonl"])
@pytest.mark.parametrize(
    ("content", "size"),
    [('["abc"]', 11), ('[["abc"], 1.5, null]', 33), ('{"a": "中"}', 16), ("[[], {}, true]", 24)],
)
def test_what_postgres_would_refuse_for_its_size_is_refused_before(
    content: str, size: int, form: UploadFormat
) -> None:
    # A line is an element of an array.
    least = size + (4 if form == "jsonl" else 0)
    document_text(content.encode(), form, least)
    with pytest.raises(DocumentTooLargeError, match="bytes in Postgres"):
        document_text(content.encode(), form, least - 1)
