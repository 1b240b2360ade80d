"""What there is to read, over HTTP and MCP."""

from __future__ import annotations

from tests.builders import english
from tests.web.agent import agent
from tests.web.api import Api, answer, problem

DOCUMENT = {"letters": [{"title": "First", "text": english(400)}, {"title": "Empty"}]}
PATH = "/api/v1/outline"


def test_collections_and_what_lies_in_them_are_listed(api: Api) -> None:
    tool = api.tool(api.table(DOCUMENT), name="letters")
    listed = answer(api("POST", PATH, json={}), 200)
    assert [(each["name"], each["strings"]) for each in listed["collections"]] == [("letters", 1)]
    body = {"collection": "letters", "pointer": "/letters"}
    below = answer(api("POST", PATH, json=body), 200)
    assert below["place"] == {"pointer": "/letters", "type": "array", "length": 1, "strings": 1}
    assert [(each["key"], each["title"]) for each in below["children"]] == [("0", "First")]
    someone = agent(api, tool)
    assert someone.done("outline", body) == below
    hidden = api("POST", PATH, json={"collection": "letters", "pointer": "/letters/1"})
    problem(hidden, 404, "NOT_FOUND")
    unknown = api("POST", PATH, json={"collection": "diaries"})
    assert "letters" in problem(unknown, 422, "INVALID_INPUT")["detail"]
    problem(api("POST", PATH, json={"cursor": "x"}), 422, "CURSOR_INVALID")
