"""What a text becomes: the console's rule, on the same texts, and a file's way in."""

from __future__ import annotations

import json

import pytest

from context_search_cli.chapters import decoded, document_of
from context_search_cli.failures import UsageError
from context_search_cli.importing import fitting_threshold
from tests.cli.running import BUCKET, CommandLine
from tests.texts import CHINESE, TEXTS


@pytest.mark.parametrize(("name", "text", "document"), TEXTS, ids=[name for name, *_ in TEXTS])
def test_a_text_makes_a_document(name: str, text: str, document: object) -> None:
    assert document_of(name, text) == document


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"a\r\nb\rc", "a\nb\nc"),
        ("林小雨".encode("utf-8-sig"), "林小雨"),
        ("林小雨𠮷".encode("gb18030"), "林小雨𠮷"),
        (b"\xfe\x59\xa8\xbc\x80", "\u9fb4\u1e3f€"),
    ],
)
def test_a_text_is_utf_8_or_gb18030(content: bytes, text: str) -> None:
    assert decoded(content, "a.txt") == text


def test_what_is_neither_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^a\.txt: this text is neither UTF-8 nor GB18030"):
        decoded(b"\xff\xfea\x00", "a.txt")


def test_a_novel_is_imported_as_its_chapters(cli: CommandLine) -> None:
    path = cli.file("风起.txt", CHINESE.encode("gb18030"))
    table = cli.json("tables", "import", path)
    assert table["name"] == "风起"
    stored = cli.json("tables", "get", table["id"])
    assert stored == document_of("风起.txt", CHINESE)
    assert stored["chapters"][1]["title"] == "第一章 初遇"


def test_a_large_text_goes_by_upload(cli: CommandLine) -> None:
    text = "# One\n" + "a line of it\n" * 500_000 + "# Two\nend\n"
    table = cli.json("tables", "import", cli.file("large.md", text))
    assert any(str(each.url).startswith(BUCKET) for each in cli.network.requests)
    assert json.loads(cli.done("tables", "get", table["id"], "/chapters/1").out)["text"] == "end"


def test_an_import_of_short_chapters_names_a_threshold_that_finds_them(cli: CommandLine) -> None:
    text = "".join(f"# Part {n}\n{'lantern ' * n * 10}\n\n" for n in (3, 5, 8))
    reported = cli.done("tables", "import", cli.file("short.md", text)).err
    words = reported.splitlines()[-1].partition(": context-search ")[2].split()
    assert words[:2] + words[3:4] == ["tools", "create", "--chunk-threshold"]
    made = cli.json(*words, "--wait")
    assert made["chunks_created"] > 0
    tool = cli.json("status", made["tool_id"])
    assert tool["nodes"]["indexed"] == 3
    long = cli.done("tables", "import", cli.file("long.md", "word " * 2500))
    assert "--chunk-threshold" not in long.err


@pytest.mark.parametrize(
    ("lengths", "threshold"), [([], 10_000), ([0], 10_000), ([5, 90], 90), ([50, 50], 50)]
)
def test_a_threshold_that_fits_indexes_nine_tenths(lengths: list[int], threshold: int) -> None:
    assert fitting_threshold(lengths) == threshold


def test_one_file_makes_one_table(cli: CommandLine) -> None:
    for words in ([cli.folder], [cli.file("a.json", {}), cli.file("b.json", {})]):
        refused = cli("tables", "import", *words)
        assert (refused.code, "one file makes one table" in refused.err) == (2, True)
