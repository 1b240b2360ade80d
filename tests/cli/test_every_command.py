"""Every command of the tree: its help, its JSON document, and how it fails."""

from __future__ import annotations

import json
import shlex
from typing import Any

from tests.builders import english
from tests.cli.running import URL, CommandLine
from tests.cli.test_page import COMMANDS
from tests.web.api import SECRET

TEXT = f"The keeper wound the clockwork of the lantern.\n{english(60)}"
PLACE = {"json_pointer": "/notes", "char_start": 0, "char_end": 46}
JUDGED = json.dumps({"query": "keeper clockwork lantern", "relevant": [PLACE]})

# In an order in which each works: T, S and P are the ids of a table, of its tool, of a plan.
RIGHT = f"""
login --url {URL} --key-file key --profile work
whoami
console
logout --profile work
doctor
tables list
tables import again.json
tables show T
tables change T --url-template https://wiki.example/{{cite}}
tables set T /title title.json
tables get T /title
tables remove T /title
tables outline T
tables versions T
tables restore T 1
tables erase T --all --yes
tools create T --name other
tools list
tools show S
tools update S --top-k 3
tools nodes S
tools retry S
tools rebuild S --wait
tools rollback S
search lantern --tool S
retrieve lantern --tool S
status S
usage
project-index on --wait
project-index status
project-index off --yes
replace lantern lamp --yes
plans
undo P --yes
status S --exit-when-ready
eval run judged.jsonl --tool S
eval compare --queries judged.jsonl --base S --draft vector=.5
eval judge questions.txt --tool S --output mine.jsonl
eval sets put harbour judged.jsonl
eval sets list
eval sets get harbour
eval sets delete harbour --yes
keys create --scope manage
keys list
keys rotate KEY
keys revoke KEY --yes
mcp create support
mcp list
mcp bind INSTANCE S
mcp change INSTANCE --tools single --reading off --texts ours
mcp config --client cursor
mcp try
ops projects create acme
ops projects list
ops rebuild --yes
ops integrity
ops redrive
ops clear S --yes
tools clear S --yes
tools delete S --yes
tables delete T --yes
"""
# What fails, with its exit code. No profile is kept, 999 is nobody's id, no file is there.
WRONG = """
2 login --url nowhere
2 whoami --profile none
2 console --profile none
2 logout
2 doctor --profile none
2 tables list --profile none
2 tables import none.json
3 tables show 999
3 tables change 999 --no-url-template
3 tables get 999
3 tables set 999 /a key.json
3 tables outline 999
3 tables versions 999
3 tables restore 999 1
3 tables remove 999 /a
2 tables erase 999 1
3 tables delete 999
3 tools create 999
2 tools list --profile none
3 tools show 999
2 tools update 999
3 tools nodes 999
3 tools retry 999
3 tools rebuild 999
3 tools rollback 999
2 tools clear 999
3 tools delete 999 --yes
3 search lantern --tool 999
3 retrieve lantern --tool 999
3 status 999
2 usage --profile none
2 project-index on --profile none
2 project-index off
4 project-index status
1 replace ( lamp --regex --yes
2 plans --profile none
3 undo 999
2 eval run none/none.jsonl --tool 999
2 eval compare --queries none/none.jsonl --base 999
2 eval judge none.txt --tool 999 --output mine.jsonl
2 eval sets put .. key.json
2 eval sets list --profile none
3 eval sets get none
2 eval sets delete none
2 keys create --scope search --expires-in soon
2 keys list --profile none
3 keys rotate 999
2 keys revoke 999
3 mcp create support --tool 999
2 mcp list --profile none
3 mcp bind 999 999
3 mcp change 999 --reading on
2 mcp config --client curl --write
2 mcp try --agent-key none
2 ops projects create acme --secret-file none
6 ops projects list --secret-file wrong
2 ops rebuild
6 ops integrity --secret-file wrong
6 ops redrive --secret-file wrong
2 ops clear 999
"""


def command_of(words: list[str]) -> tuple[str, ...]:
    """The command that words begin with."""
    [found] = [known for known in COMMANDS if tuple(words[: len(known)]) == known]
    return found


def lines(text: str) -> list[list[str]]:
    return [shlex.split(line) for line in text.strip().splitlines()]


def test_every_command_and_every_group_has_help(cli: CommandLine) -> None:
    for name in {each[:n] for each in COMMANDS for n in (0, 1, 2, 3)}:
        reported = cli.done(*name, "--help")
        assert "Usage: " in reported.out, name
        assert reported.err == "", name
        below = {each[len(name)] for each in COMMANDS if each[: len(name)] == name != each}
        assert all(word in reported.out for word in below), name
        assert ("--json" in reported.out) is (name in COMMANDS), name


def test_no_command_is_left_out() -> None:
    assert {command_of(words) for words in lines(RIGHT)} == set(COMMANDS)
    assert {command_of(words) for _, *words in lines(WRONG)} == set(COMMANDS)


def test_every_command_prints_one_json_document(cli: CommandLine) -> None:
    table = cli.table({"notes": TEXT})
    ids: dict[str, object] = {"T": table, "S": cli.tool(table)}
    cli.file("key", cli.key)
    cli.file("again.json", {"a": 1})
    cli.file("title.json", '"Skagen"')
    cli.file("judged.jsonl", JUDGED)
    cli.file("questions.txt", "")
    cli.environment |= {"CONTEXT_SEARCH_SECRET": SECRET}
    for words in lines(RIGHT):
        given = [str(ids.get(word, word)) for word in words]
        result = cli(*_found(cli, given), "--json")
        assert (result.code, words) == (0, words), result.err
        assert result.document == "Skagen" or isinstance(result.document, dict), words
        ids |= _new_ids(words, result.document)


def test_every_command_fails_with_its_code_and_one_json_document(cli: CommandLine) -> None:
    cli.file("key.json", "{}")
    cli.file("wrong", "wrong")
    for code, *words in lines(WRONG):
        result = cli(*_found(cli, words), "--json")
        assert result.code == int(code), (words, result.err)
        error = result.document["error"]
        assert error["exit"] == result.code
        assert error["code"]
        assert "error: " in result.err
        assert "Traceback" not in result.err


def _found(cli: CommandLine, words: list[str]) -> list[object]:
    """The words, files by their places."""
    return [cli.folder / word if (cli.folder / word).is_file() else word for word in words]


def _new_ids(words: list[str], document: Any) -> dict[str, object]:
    names = {"replace": ("P", "plan_id"), "keys": ("KEY", "id"), "mcp": ("INSTANCE", "id")}
    if words[0] in names and words[1] in {"create", "rotate", "lantern"}:
        short, member = names[words[0]]
        return {short: document[member]}
    return {}
