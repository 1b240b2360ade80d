"""Replace and undo by the command line."""

from __future__ import annotations

import httpx2
import pytest

from tests.cli.running import CommandLine


def chapters(cli: CommandLine) -> tuple[int, int]:
    one = cli.table({"text": "他走进了废弃仓库，满地灰尘。"}, "第三章")
    two = cli.table({"scenes": ["废弃仓库的门", "离开废弃仓库，回到废弃仓库"]}, "第四章")
    return one, two


def open_plans(cli: CommandLine) -> list[dict[str, object]]:
    return [plan for plan in cli.json("plans")["plans"] if plan["state"] == "ready"]


def test_every_place_is_replaced_and_comes_back(cli: CommandLine) -> None:
    one, two = chapters(cli)
    done = cli.json("replace", "废弃仓库", "荒废工厂", "--yes")
    assert (done["state"], done["replaced_count"]) == ("done", 4)
    assert cli.json("tables", "get", one, "/text") == "他走进了荒废工厂，满地灰尘。"
    undone = cli.json("undo", done["plan_id"], "--yes")
    assert (undone["state"], undone["reverted_count"]) == ("done", 4)
    assert cli.json("tables", "get", two, "/scenes/0") == "废弃仓库的门"
    again = cli("undo", done["plan_id"], "--yes")
    assert again.code == 4
    assert f"undone already, by plan {undone['plan_id']}" in again.err


def test_a_dry_run_shows_and_leaves_nothing(cli: CommandLine) -> None:
    one, _ = chapters(cli)
    reported = cli.done("replace", "废弃仓库", "荒废工厂", "--dry-run")
    assert "- 他走进了废弃仓库，满地灰尘。" in reported.out
    assert "+ 他走进了荒废工厂，满地灰尘。" in reported.out
    assert "4 matches in 3 strings of 2 tables" in reported.out
    assert cli.json("tables", "show", one)["revision"] == 1
    assert open_plans(cli) == []
    assert (
        cli.json("replace", "废弃仓库", "x", "--dry-run", "--under", "/scenes")["matches_count"]
        == 3
    )


def test_nothing_is_replaced_unasked(cli: CommandLine) -> None:
    one, _ = chapters(cli)
    assert cli("replace", "废弃仓库", "荒废工厂").code == 2
    assert cli("replace", "废弃仓库", "荒废工厂", "--yes", "--dry-run").code == 2
    assert cli.json("tables", "show", one)["revision"] == 1
    assert open_plans(cli) == []


def test_nothing_is_undone_unasked(cli: CommandLine) -> None:
    one, _ = chapters(cli)
    plan = cli.json("replace", "废弃仓库", "荒废工厂", "--yes")["plan_id"]
    refused = cli("undo", plan)
    assert refused.code == 2
    assert "Bring 4 matches back? Say --yes" in refused.err
    assert cli("undo", plan, "--yes", "--dry-run").code == 2
    assert cli.json("tables", "show", one)["revision"] == 2


def test_a_match_is_left_out(cli: CommandLine) -> None:
    one, two = chapters(cli)
    done = cli.json("replace", "废弃仓库", "荒废工厂", "--yes", "--leave", 3, "--table", two)
    assert done["replaced_count"] == 2
    assert cli.json("tables", "get", two, "/scenes/1") == "离开荒废工厂，回到废弃仓库"
    assert cli.json("tables", "get", one, "/text") == "他走进了废弃仓库，满地灰尘。"


@pytest.mark.parametrize("left", [("--leave", 99_999), ("--leave", 1, "--leave", 2)])
def test_a_choice_that_is_refused_leaves_no_plan(cli: CommandLine, left: tuple[object]) -> None:
    cli.table({"text": "废弃仓库，废弃仓库"})
    assert cli("replace", "废弃仓库", "荒废工厂", "--yes", *left).code == 1
    assert open_plans(cli) == []


def test_matches_are_shown_by_pages_as_far_as_they_go(cli: CommandLine) -> None:
    cli.table(["x"] * 405)
    shown = cli.json("replace", "x", "y", "--dry-run", "--samples", 403)
    assert [match["match"] for match in shown["matches"]] == [*range(1, 404)]
    assert shown["cursor"] == "403"
    reported = cli.done("replace", "x", "y", "--dry-run", "--samples", 1_000)
    assert " 405  table" in reported.out
    assert "more" not in reported.err


def test_options_are_what_a_match_is(cli: CommandLine) -> None:
    table = cli.table({"a": "Ann ANN annex"})
    cli.done("replace", "ann", "Eve", "--ignore-case", "--word", "--yes")
    assert cli.json("tables", "get", table, "/a") == "Eve Eve annex"
    cli.done("replace", "(E)ve", "$1va", "--regex", "--yes")
    assert cli.json("tables", "get", table, "/a") == "Eva Eva annex"
    assert cli("replace", "(", "x", "--regex", "--yes").code == 1


def test_nothing_found_is_done(cli: CommandLine) -> None:
    result = cli.done("replace", "zyzzyva", "x", "--yes")
    assert "0 matches" in result.out
    assert open_plans(cli) == []


def test_what_changed_meanwhile_is_a_conflict_or_is_skipped(cli: CommandLine) -> None:
    one, two = chapters(cli)

    def edit(request: httpx2.Request) -> httpx2.Response | None:
        if request.url.path.endswith("/execute"):
            cli.network.before.remove(edit)
            cli.done("tables", "set", two, "/scenes/0", "-", "--text", stdin="门开着")
        return None

    cli.network.before.append(edit)
    result = cli("replace", "废弃仓库", "荒废工厂", "--yes", "--json")
    assert (result.code, result.document["error"]["code"]) == (4, "REPLACE_STALE")
    assert open_plans(cli) == []
    assert cli.json("plans")["plans"][0]["state"] == "cancelled"
    assert cli.done("plans").lines[0][1] == "not executed"
    assert cli.json("tables", "show", one)["revision"] == 1
    cli.done("tables", "set", two, "/scenes/0", "-", "--text", stdin="废弃仓库")
    cli.network.before.append(edit)
    refused = cli("replace", "废弃仓库", "荒废工厂", "--yes")
    assert "1 string or document is not as it was shown" in refused.err
    assert f"table {two} /scenes/0: CHANGED" in refused.err
    cli.done("tables", "set", two, "/scenes/0", "-", "--text", stdin="废弃仓库")
    cli.network.before.append(edit)
    reported = cli.done("replace", "废弃仓库", "荒废工厂", "--yes", "--skip-changed")
    assert f"table {two} stays as it was: CHANGED" in reported.err
    assert cli.json("tables", "show", one)["revision"] == 2


def test_what_nobody_knows_was_executed_can_still_be_undone(cli: CommandLine) -> None:
    one, _ = chapters(cli)

    def fail(request: httpx2.Request) -> httpx2.Response | None:
        if not request.url.path.endswith("/execute"):
            return None
        cli.network.before.remove(fail)
        cli.network.handle_request(request)
        cli.network.before.append(fail)
        return httpx2.Response(500, json={"code": "INTERNAL", "retryable": False})

    cli.network.before.append(fail)
    assert cli("replace", "废弃仓库", "荒废工厂", "--yes").code == 1
    plan = cli.json("plans")["plans"][0]["plan_id"]
    cli.done("undo", plan, "--yes")
    assert cli.json("tables", "get", one, "/text") == "他走进了废弃仓库，满地灰尘。"


def test_a_lost_reply_replaces_once(cli: CommandLine) -> None:
    one, _ = chapters(cli)
    cli.network.lose_next_reply = "/replace/execute"
    assert cli.json("replace", "废弃仓库", "仓库", "--yes")["replayed"] is True
    assert cli.json("tables", "show", one)["revision"] == 2


def test_ctrl_c_at_the_preview_leaves_no_plan(cli: CommandLine) -> None:
    chapters(cli)
    cli.network.meets("/execute$", KeyboardInterrupt())
    assert cli("replace", "废弃仓库", "荒废工厂", "--yes").code == 130


def test_an_undo_only_counts(cli: CommandLine) -> None:
    one, _ = chapters(cli)
    plan = cli.done("replace", "废弃仓库", "荒废工厂", "--yes", "--quiet").out.split()[-1]
    assert "4 would come back" in cli.done("undo", plan, "--dry-run").out
    cli.done("tables", "set", one, "/text", "-", "--text", stdin="全新")
    assert cli("undo", plan, "--yes").code == 4
    reported = cli.done("undo", plan, "--skip-changed", "--yes")
    assert "EDITED_SINCE" in reported.err
    rows = cli.done("plans").lines
    assert [row[1:6] for row in rows[:2]] == [
        ["partial", "–", "–", "4", "3"],
        ["done", "废弃仓库", "荒废工厂", "4", "4"],
    ]


def test_ten_strings_that_are_in_the_way_are_named(cli: CommandLine) -> None:
    chapters(cli)
    changed: list[object] = [
        {"table_id": 1, "json_pointer": f"/{at}", "reason": "CHANGED"} for at in range(12)
    ]
    changed[0] = {"table_id": 1, "json_pointer": "/a", "reason": "MOVED", "moved_to": "/b"}
    changed[1] = "a gateway's own"
    problem = {"code": "REPLACE_STALE", "retryable": False, "changed": changed}
    cli.network.meets("/execute$", httpx2.Response(409, json=problem))
    reported = cli("replace", "废弃仓库", "荒废工厂", "--yes").err
    assert "table 1 /a: MOVED to /b" in reported
    assert reported.count(": CHANGED") == 8
    assert "and more" in reported
