"""Agents replace nothing unless somebody who may do it himself has said so, for one instance."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.api import Api, answer, problem

OPTED_IN = {"replace": "execute", "confirm": "required"}


def path_of(mcp: dict[str, Any]) -> str:
    return f"/api/v1/mcps/{mcp['id']}"


def shown(mcp: dict[str, Any]) -> tuple[str, str]:
    return (mcp["replace"], mcp["confirm"])


def manager(api: Api) -> str:
    """A key that may do everything but replace."""
    return str(api.new_key(scopes=["search", "manage"])["api_key"])


def test_an_instance_is_made_without_and_says_so(api: Api) -> None:
    made = api.mcp()
    assert shown(made) == ("off", "required")
    assert shown(answer(api("GET", path_of(made)), 200)) == ("off", "required")
    opted_in = api.mcp(**OPTED_IN)
    assert shown(opted_in) == ("execute", "required")
    listed = answer(api("GET", "/api/v1/mcps"), 200)["mcps"]
    assert [shown(mcp) for mcp in listed] == [shown(made), shown(opted_in)]


def test_agents_that_execute_ask_first_unless_the_client_is_said_to(api: Api) -> None:
    assert shown(api.mcp(replace="execute")) == ("execute", "required")
    made = api.mcp(replace="execute", confirm="client")
    for body, expected in (
        ({"name": "editors"}, ("execute", "client")),
        ({"replace": "execute"}, ("execute", "client")),
        ({"replace": "off"}, ("off", "client")),
        ({"replace": "propose"}, ("propose", "client")),
        ({"replace": "execute"}, ("execute", "required")),
        ({"replace": "propose", "confirm": "client"}, ("propose", "client")),
        ({"replace": "execute", "confirm": "client"}, ("execute", "client")),
    ):
        assert shown(answer(api("PATCH", path_of(made), json=body), 200)) == expected


@pytest.mark.parametrize(
    "body",
    [
        {"replace": "on"},
        {"replace": True},
        {"confirm": "never"},
        {"replacing": "off"},
        {"redact": "yes"},
        {"redact": 1},
        {"tools": "all"},
        {"tools": ["named"]},
        {"reading": True},
        {"reading": "yes"},
        {"reads": "on"},
        {"offers": "single"},
        {"texts": "theirs"},
    ],
)
def test_other_values_are_refused(api: Api, body: dict[str, Any]) -> None:
    made = api.mcp()
    problem(api("PATCH", path_of(made), json=body), 422, "INVALID_INPUT")
    named = {"project_id": api.project_id, "name": "x", **body}
    problem(api("POST", "/api/v1/mcps", json=named), 422, "INVALID_INPUT")
    assert shown(answer(api("GET", path_of(made)), 200)) == ("off", "required")


def test_who_may_not_replace_cannot_let_agents_do_it(api: Api) -> None:
    key, off = manager(api), api.mcp()
    on = api.mcp(replace="propose", redact=True, reading="off", tools="connector")
    answer(api("PATCH", path_of(on), json={"status": False}), 200)
    named = {"project_id": api.project_id, "name": "x"}
    refused: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/api/v1/mcps", {**named, "replace": "propose"}),
        ("POST", "/api/v1/mcps", {**named, "replace": "execute"}),
        ("PATCH", path_of(off), {"replace": "propose"}),
        ("PATCH", path_of(off), {"replace": "execute"}),
        ("PATCH", path_of(on), {"replace": "execute"}),
        ("PATCH", path_of(on), {"confirm": "client"}),
        ("PATCH", path_of(on), {"status": True}),
        ("PATCH", path_of(on), {"redact": False}),
        ("PATCH", path_of(on), {"reading": "on"}),
        ("PATCH", path_of(on), {"tools": "named"}),
        ("PATCH", path_of(on), {"tools": "single"}),
        ("POST", f"{path_of(on)}/keys", {}),
    ]
    for method, path, body in refused:
        problem(api(method, path, key=key, json=body), 403, "PERMISSION_DENIED")
    mcps = answer(api("GET", "/api/v1/mcps"), 200)["mcps"]
    assert [shown(mcp) for mcp in mcps] == [("off", "required"), ("propose", "required")]
    assert [(mcp["status"], mcp["redact"]) for mcp in mcps] == [(True, False), (False, True)]
    assert [mcp["reading"] for mcp in mcps] == ["on", "off"]
    assert len(answer(api("GET", f"{path_of(on)}/keys"), 200)["keys"]) == 1


def test_who_may_not_replace_cannot_give_agents_one_more_tool_to_replace_in(api: Api) -> None:
    key, tool = manager(api), api.unindexed_tool(api.table({"a": "b"}))
    on, body = api.mcp(**OPTED_IN), {"tool_id": tool["tool_id"]}
    bindings = f"{path_of(on)}/bindings"
    problem(api("POST", bindings, key=key, json=body), 403, "PERMISSION_DENIED")
    answer(api("POST", bindings, json={**body, "status": False}), 201)
    binding = f"{bindings}/{tool['tool_id']}"
    switched_on = api("PATCH", binding, key=key, json={"status": True})
    problem(switched_on, 403, "PERMISSION_DENIED")
    assert answer(api("GET", bindings), 200)["bindings"][0]["status"] is False
    answer(api("POST", f"{path_of(api.mcp())}/bindings", key=key, json=body), 201)


def test_who_may_not_replace_can_stop_agents_from_it(api: Api) -> None:
    key, made = manager(api), api.mcp(replace="execute")
    for body, expected in (
        ({"confirm": "required"}, ("execute", "required")),
        ({"name": "editors"}, ("execute", "required")),
        ({"replace": "execute", "status": True}, ("execute", "required")),
        ({"replace": "propose"}, ("propose", "required")),
        ({"replace": "propose", "confirm": "required"}, ("propose", "required")),
        ({"replace": "off"}, ("off", "required")),
        ({"confirm": "client"}, ("off", "client")),
    ):
        changed = answer(api("PATCH", path_of(made), key=key, json=body), 200)
        assert shown(changed) == expected


def test_a_key_is_rotated_by_those_only_who_may_do_what_its_agents_may(api: Api) -> None:
    key, made = manager(api), api.mcp(replace="propose")
    [first] = answer(api("GET", f"{path_of(made)}/keys"), 200)["keys"]
    rotate = f"{path_of(made)}/keys/{first['id']}/rotate"
    problem(api("POST", rotate, key=key), 403, "PERMISSION_DENIED")
    assert answer(api("POST", rotate), 201)["scopes"] == ["search"]


def test_a_new_instance_reads_and_what_it_offers_is_said(api: Api) -> None:
    def offered(mcp: dict[str, Any]) -> tuple[str, str, str]:
        return (mcp["tools"], mcp["reading"], mcp["texts"])

    made = api.mcp()
    assert offered(made) == ("named", "on", "anyone")
    for body, expected in (
        ({"tools": "single"}, ("single", "on", "anyone")),
        ({"reading": "off"}, ("single", "off", "anyone")),
        ({"texts": "ours"}, ("single", "off", "ours")),
        ({"name": "readers", "tools": None}, ("single", "off", "ours")),
        ({"tools": "connector", "reading": "on"}, ("connector", "on", "ours")),
    ):
        assert offered(answer(api("PATCH", path_of(made), json=body), 200)) == expected
    said = {"tools": "connector", "reading": "off", "texts": "ours"}
    assert offered(api.mcp(**said)) == ("connector", "off", "ours")


def test_who_manages_lets_agents_read_where_they_replace_nothing(api: Api) -> None:
    key, made = manager(api), api.mcp(reading="off")
    changed = answer(api("PATCH", path_of(made), key=key, json={"reading": "on"}), 200)
    assert changed["reading"] == "on"
    alone = str(api.new_key(scopes=["manage"])["api_key"])
    answer(api("PATCH", path_of(made), key=alone, json={"reading": "off"}), 200)
    assert answer(api("PATCH", path_of(made), key=alone, json={"reading": "on"}), 200)
    named = {"project_id": api.project_id, "name": "x"}
    problem(api("POST", "/api/v1/mcps", key=alone, json=named), 403, "PERMISSION_DENIED")
