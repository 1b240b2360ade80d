"""Documents by the command line: import, read, change, versions."""

from __future__ import annotations

import json

import httpx2
import pytest

from tests.builders import english
from tests.cli.running import BUCKET, CommandLine

# Over what a request takes, so that it goes by upload.
LARGE = {"a": english(400), "padding": "x" * 6_100_000}


def test_a_document_is_imported_under_the_name_of_its_file(cli: CommandLine) -> None:
    path = cli.file("novel.json", {"a": [1, 2]})
    table = cli.json("tables", "import", path)
    assert (table["name"], table["revision"]) == ("novel", 1)
    assert cli.json("tables", "get", table["id"]) == {"a": [1, 2]}
    assert cli.json("tables", "show", table["id"])["name"] == "novel"


def test_a_table_says_where_its_owner_shows_its_places(cli: CommandLine) -> None:
    path, url = cli.file("novel.json", {"a": 1}), "https://wiki.example/{table_id}?at={pointer}"
    large = cli.file("large.json", LARGE)
    for file in (path, large):
        table = cli.json("tables", "import", file, "--url-template", url)["id"]
        assert cli.json("tables", "show", table)["url_template"] == url
    assert cli("tables", "import", path, "--replace", table, "--url-template", url).code == 2
    for words, expected in (
        (("--url-template", "https://b.example"), "https://b.example"),
        (("--no-url-template",), None),
    ):
        assert cli.json("tables", "change", table, *words)["url_template"] == expected
    assert cli("tables", "change", table).code == 2
    assert cli("tables", "change", table, "--no-url-template", "--url-template", url).code == 2
    assert cli("tables", "change", table, "--url-template", "wiki").code == 1


def test_digits_stay_as_they_are_written(cli: CommandLine) -> None:
    path = cli.file("n.json", '{"a": 9223372036854775807123, "b": 1.10, "c": 1e3}')
    table = cli.json("tables", "import", path)["id"]
    assert (
        cli.done("tables", "get", table).out
        == '{"a": 9223372036854775807123, "b": 1.10, "c": 1000}\n'
    )


def test_stdin_and_json_lines(cli: CommandLine) -> None:
    lines = '{"a": 1}\n\n{"a": 2}\n'
    table = cli.json("tables", "import", "-", "--name", "x", "--jsonl", stdin=lines)["id"]
    assert cli.json("tables", "get", table) == [{"a": 1}, {"a": 2}]
    assert cli("tables", "import", "-", stdin="{}").code == 2  # stdin has no name


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a":\n  1', "line 2, column 4: this is no JSON: "),
        (b'{"a":\n "\xc3\xa9\xff"', "line 2, column 4: this is no JSON in UTF-8"),
        (b'{"a": 1}, {"x": 2}', "line 1, column 9: this is no JSON: "),
        (b"", "line 1, column 1: this is no JSON: "),
        (b"[" * 10_000 + b"]" * 10_000, "line 1: this is over 256 levels deep"),
        (b"9" * 5_000, "a number has over 4,300 digits"),
    ],
)
def test_what_is_no_json_is_told_before_anything_is_sent(
    cli: CommandLine, content: bytes, said: str
) -> None:
    path = cli.file("bad.json", content)
    result = cli("tables", "import", path, "--json")
    assert (result.code, result.document["error"]["code"]) == (2, "USAGE")
    assert f"{path}" in result.err
    assert said in result.err
    assert "--jsonl" not in result.err
    reported = cli("tables", "import", "-", "--name", "x", stdin=content)
    assert reported.code == 2
    assert "error: standard input" in reported.err
    assert cli.paths("POST") == []


def test_the_line_that_is_no_json_is_named(cli: CommandLine) -> None:
    path = cli.file("a.jsonl", b'{"a": 1}\n\n{"a": ')
    assert f"{path}, line 3, column 7: " in cli("tables", "import", path).err


@pytest.mark.parametrize("last", ['{"a": 2}', json.dumps(LARGE)], ids=["request", "upload"])
def test_json_lines_that_are_not_called_so_are_told_what_to_say(
    cli: CommandLine, last: str
) -> None:
    lines = f'\ufeff{{"a": 1}}\n{last}\n'
    result = cli("tables", "import", "-", "--name", "x", "--json", stdin=lines)
    assert result.code in {1, 2}
    assert result.document["error"]["advice"].endswith("--jsonl")
    assert cli.done("tables", "import", "-", "--name", "x", "--jsonl", stdin=lines)


def test_a_large_document_goes_by_upload_by_itself(cli: CommandLine) -> None:
    table = cli.json("tables", "import", cli.file("large.json", LARGE))
    assert table["revision"] == 2
    assert cli.json("tables", "get", table["id"], "/a") == LARGE["a"]
    begun = next(each for each in cli.network.requests if each.url.path.endswith("/uploads"))
    assert json.loads(begun.content).keys() == {"format", "size", "sha256"}


def test_an_import_that_nobody_waits_for_is_not_called_done(cli: CommandLine) -> None:
    reported = cli.done("tables", "import", cli.file("large.json", LARGE), "--no-wait")
    assert " is being imported: " in reported.out


def test_quotes_count_twice_in_a_request(cli: CommandLine) -> None:
    """Lambda carries a body in a JSON string: 3.5 MB of quotes are no request."""
    cli.json("tables", "import", cli.file("quotes.json", ['"' * 1_800_000]))
    assert any(str(each.url).startswith(BUCKET) for each in cli.network.requests)


def test_an_upload_that_fails_leaves_no_table(cli: CommandLine) -> None:
    path = cli.file("bad.json", json.dumps(LARGE)[:-1])
    result = cli("tables", "import", path, "--json")
    assert (result.code, result.document["error"]["code"]) == (1, "INVALID_DOCUMENT")
    [made] = cli.paths("DELETE")
    assert cli("tables", "show", made.rsplit("/", 1)[1]).code == 3


def test_ctrl_c_in_an_upload_leaves_no_table(cli: CommandLine) -> None:
    cli.network.meets(BUCKET, KeyboardInterrupt())
    result = cli("tables", "import", cli.file("large.json", LARGE))
    assert (result.code, result.out) == (130, "")
    [made] = cli.paths("DELETE")
    assert cli("tables", "show", made.rsplit("/", 1)[1]).code == 3


@pytest.mark.parametrize("again", [httpx2.ReadError("away"), KeyboardInterrupt()])
def test_a_table_that_cannot_be_taken_back_is_named(cli: CommandLine, again: BaseException) -> None:
    def vanish(request: httpx2.Request) -> httpx2.Response | None:
        if str(request.url).startswith(BUCKET):
            return httpx2.Response(403)
        if request.method == "DELETE":
            raise again
        return None

    cli.network.before += [vanish] * 2
    result = cli("tables", "import", cli.file("large.json", LARGE), "--json", "--quiet")
    assert (result.code, result.document["error"]["code"]) == (6, "UPLOAD_REFUSED")
    [left] = cli.json("tables", "list")["tables"]
    assert f"could not be deleted: context-search tables delete {left['id']}\n" in result.err


def test_ctrl_c_in_a_replacing_upload_leaves_the_table_as_it_was(cli: CommandLine) -> None:
    table = cli.table({"a": 1})
    cli.network.meets(BUCKET, KeyboardInterrupt())
    assert cli("tables", "import", cli.file("l.json", LARGE), "--replace", table).code == 130
    assert cli.json("tables", "get", table) == {"a": 1}


@pytest.mark.parametrize("content", [{"a": 2}, LARGE], ids=["request", "upload"])
def test_a_table_is_replaced_if_it_has_the_revision(cli: CommandLine, content: object) -> None:
    table = cli.table({"a": 1})
    path = cli.file("next.json", content)
    assert cli.json("tables", "import", path, "--replace", table)["revision"] == 2
    result = cli("tables", "import", path, "--replace", table, "--revision", 1, "--json")
    assert (result.code, result.document["error"]["code"]) == (4, "CONFLICT")


def test_a_value_is_set_at_its_pointer(cli: CommandLine) -> None:
    table = cli.table({"a/b": {"list": [1]}})
    cli.done("tables", "set", table, "/a~1b/list/-", "-", stdin="1.10")
    cli.done("tables", "set", table, "/t", cli.file("t.txt", 'say "hi"\n'), "--text")
    assert cli.done("tables", "get", table, "/a~1b/list").out == "[1, 1.10]\n"
    assert cli.json("tables", "get", table, "/t") == 'say "hi"\n'


def test_a_value_is_given_on_the_command_line(cli: CommandLine) -> None:
    table = cli.table({"list": [1]})
    cli.done("tables", "set", table, "/list/-", "--value", "1.10")
    cli.done("tables", "set", table, "/title", "--value", "Skagen", "--text")
    assert cli.done("tables", "get", table).out == '{"list": [1, 1.10], "title": "Skagen"}\n'


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["hello"], "hello: No such file"),
        (["--value", "hello"], "--value, line 1, column 1: this is no JSON"),
        (["-", "--value", "1"], "FILE or --value"),
        ([], "FILE or --value"),
    ],
)
def test_who_gives_no_value_is_told_how(cli: CommandLine, words: list[str], said: str) -> None:
    result = cli("tables", "set", 1, "/title", *words, "--json")
    assert (result.code, result.document["error"]["code"]) == (2, "USAGE")
    assert said in result.err
    assert "--value TEXT --text" in result.document["error"]["advice"]
    assert cli.network.requests == []


def test_a_reply_that_is_lost_sets_nothing_twice(cli: CommandLine) -> None:
    table = cli.table({"list": []})
    cli.network.lose_next_reply = "/data/replace"
    assert cli("tables", "set", table, "/list/-", "-", stdin="1").code == 5
    assert cli.json("tables", "get", table, "/list") == [1]
    assert len([path for path in cli.paths("POST") if path.endswith("/data/replace")]) == 1


def test_somebody_elses_change_is_a_conflict(cli: CommandLine) -> None:
    table = cli.table({"a": 1})
    cli.done("tables", "set", table, "/a", "-", stdin="2")
    result = cli("tables", "set", table, "/a", "-", "--revision", 1, stdin="3")
    assert result.code == 4
    assert cli.json("tables", "get", table, "/a") == 2


def test_an_old_version_comes_back(cli: CommandLine) -> None:
    table = cli.table({"a": 1})
    cli.done("tables", "set", table, "/a", "-", stdin="2")
    versions = cli.json("tables", "versions", table)["versions"]
    assert [each["revision"] for each in versions] == [2, 1]
    assert cli.json("tables", "restore", table, 1)["revision"] == 3
    assert cli.json("tables", "get", table) == {"a": 1}
    assert cli("tables", "restore", table, 99).code == 3


def test_a_member_is_removed_at_its_pointer(cli: CommandLine) -> None:
    table = cli.table({"a/b": {"list": [1, 2]}, "c": 3})
    assert "changed, revision 2" in cli.done("tables", "remove", table, "/a~1b/list/0").out
    assert cli.json("tables", "remove", table, "/c")["revision"] == 3
    assert cli.json("tables", "get", table) == {"a/b": {"list": [2]}}
    assert cli("tables", "remove", table, "/a~1b", "--revision", 1).code == 4
    assert cli("tables", "remove", table, "/c").code == 3


def test_an_erased_version_is_a_gap_and_the_list_says_so(cli: CommandLine) -> None:
    table = cli.table({"a": "secret"})
    for value in (2, 3):
        cli.done("tables", "set", table, "/a", "--value", value)
    assert cli("tables", "erase", table, 1).code == 2
    assert "version 1 is erased" in cli.done("tables", "erase", table, 1, "--yes").out
    rows = {row[0]: row[3:5] for row in cli.done("tables", "versions", table).lines}
    assert rows == {"3": ["yes", "–"], "2": ["yes", "–"], "1": ["no", "erased"]}
    assert cli("tables", "restore", table, 1).code == 4
    assert cli("tables", "erase", table, 3, "--yes").code == 4  # the live one
    assert cli.json("tables", "erase", table, "--all", "--yes")["erased"] == "all"
    gaps = [each["gap"] for each in cli.json("tables", "versions", table)["versions"]]
    assert gaps == [None, "erased", "erased"]


@pytest.mark.parametrize("words", [[], [1, "--all"]])
def test_what_is_erased_is_said(cli: CommandLine, words: list[object]) -> None:
    result = cli("tables", "erase", 1, *words, "--yes")
    assert (result.code, "VERSION or --all" in result.err) == (2, True)
    assert cli.network.requests == []


def test_nothing_is_deleted_unasked(cli: CommandLine) -> None:
    table = cli.table({"a": 1})
    assert cli("tables", "delete", table).code == 2
    assert cli.json("tables", "delete", table, "--yes") == {"deleted": table}
    assert cli("tables", "get", table).code == 3


def test_a_value_is_written_to_a_file(cli: CommandLine) -> None:
    table = cli.table({"a": "é\u202e"})
    target = cli.folder / "out.json"
    assert cli.done("tables", "get", table, "/a", "-o", target).out == ""
    assert json.loads(target.read_text("utf-8")) == "é\u202e"


def test_json_prints_what_turns_the_terminal_as_escapes(cli: CommandLine) -> None:
    table = cli.table({"a": "x\u202ey\u009bz"})
    out = cli.done("tables", "get", table).out
    assert "\\u202e" in out
    assert "\u009b" not in out
    assert json.loads(out) == {"a": "x\u202ey\u009bz"}
