"""What a request sets can be read back: each field of its body is in an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from fastapi.routing import APIRoute
from pydantic import BaseModel

from context_search.web.fields import AnswerModel, Body
from context_search.web.openapi import every_router

ROUTES = [
    route for router in every_router() for route in router.routes if isinstance(route, APIRoute)
]
# A body that sets something, where a GET of its own path or of one below it does not answer that.
READ_BY: dict[str, tuple[str, ...]] = {
    "CreateProjectBody": ("ListedProjectAnswer", "WhoAmIAnswer.project"),
    "CreateSearchToolBody": ("SearchToolAnswer",),
    "CreateMcpBody": ("McpAnswer", "NewMcpAnswer", "BindingsAnswer"),
    "ChangeBindingBody": ("BindingAnswer",),
}
# A field → what it is called in the answer, or None and why it is in none.
ELSEWHERE: dict[tuple[str, str], str | None] = {
    ("CreateTableBody", "data"): None,  # the document itself: GET …/data
    ("CreateSearchToolBody", "json_pointer"): "json_path",  # another name for it
    ("CreateSearchToolBody", "search_config.enable_hybrid"): "search_config.strategy",
    ("CreateKeyBody", "expires_in"): "expires_at",
    ("CreateMcpKeyBody", "expires_in"): "expires_at",
    ("CreateMcpBody", "key_expires_in"): "key_expires_at",
}
# A body that sets nothing → what it does.
SETS_NOTHING = {
    **dict.fromkeys(
        ["SearchBody", "ExplainBody", "ProjectSearchBody", "ProjectExplainBody", "RetrieveBody"],
        "a question",
    ),
    "MeasuresBody": "answers are measured, not kept",
    **dict.fromkeys(["ReadBody", "OutlineBody", "TextBody", "ChunksBody"], "reads"),
    **dict.fromkeys(["ReadTextBody", "FindTextBody", "CollectionOutlineBody"], "reads"),
    **dict.fromkeys(["ReplaceBody", "MergeBody", "RemoveBody"], "changes the document itself"),
    **dict.fromkeys(["PreviewBody", "ExecuteBody", "UndoBody"], "a plan: its texts are forgotten"),
    **dict.fromkeys(
        ["RotateKeyBody", "RetryBody", "ProjectRetryBody", "SignInBody"], "does something once"
    ),
}


def below(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in kind.__subclasses__():
        yield each
        yield from below(each)


# Those of agents' tools are other models, below MCP.
BODIES = {each.__name__: each for each in below(Body) if not each.__name__.endswith("Arguments")}
ANSWERS = {each.__name__: each for each in below(AnswerModel)}


def models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models inside of an annotation, in lists and beside null too."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from models(inner)


def paths(model: type[BaseModel], at: str = "") -> Iterator[str]:
    """The fields of a model, those of its parts behind a dot."""
    for name, field in model.model_fields.items():
        parts = [*models(field.annotation)]
        if not parts:
            yield f"{at}{name}"
        for part in parts:
            yield from paths(part, f"{at}{name}.")


def bodies_of(route: APIRoute) -> set[str]:
    """The names of the models that a route takes as its body, without their parts."""
    field = route.body_field
    found = {model.__name__ for model in models(field.field_info.annotation)} if field else set()
    return found & {*BODIES}


SENT = {name for route in ROUTES for name in bodies_of(route)}
"""The bodies of routes; all others are parts or bases of these."""


def read_by(name: str) -> tuple[str, ...]:
    """The answers that have what a body sets: of a GET of its path, or of one thing below it."""
    if name in READ_BY:
        return READ_BY[name]
    written = {route.path for route in ROUTES if name in bodies_of(route)}
    found = [
        model.__name__
        for route in ROUTES
        if "GET" in (route.methods or ())
        and any(route.path == path or is_one_below(route.path, path) for path in written)
        for model in models(route.response_model)
    ]
    return tuple(sorted(found))


def is_one_below(path: str, of: str) -> bool:
    """Whether a path is that of one thing in a list: ``…/keys/{key_id}`` of ``…/keys``."""
    below = path.removeprefix(f"{of}/{{")
    return below != path and "/" not in below


def shown(answers: tuple[str, ...]) -> set[str]:
    """The fields of answers; those of a list's rows, as its page is nothing else, by themselves."""
    found = set[str]()
    for answer in answers:
        name, _, part = answer.partition(".")
        every = [*paths(ANSWERS[name])]
        rows = [field for field, said in ANSWERS[name].model_fields.items() if is_list(said)]
        for inner in [part] if part else ["", *rows]:
            found |= {path.removeprefix(f"{inner}.") for path in every if path.startswith(inner)}
    return found


def is_list(field: Any) -> bool:
    """Whether a field holds rows."""
    return getattr(field.annotation, "__origin__", None) is list


def test_every_body_is_known_to_set_something_or_not() -> None:
    setting = SENT - {*SETS_NOTHING}
    assert {name for name in setting if not read_by(name)} == set(), "no GET answers what it sets"
    assert {*SETS_NOTHING} | {*READ_BY} <= SENT
    assert not {*READ_BY} & {*SETS_NOTHING}


@pytest.mark.parametrize("name", sorted(SENT - {*SETS_NOTHING}))
def test_what_a_body_sets_is_in_an_answer(name: str) -> None:
    fields, answered = [*paths(BODIES[name])], shown(read_by(name))
    said = {path: ELSEWHERE.get((name, path), path) for path in fields}
    assert {path for path, place in said.items() if place and place not in answered} == set()
    exceptions = {path for body, path in ELSEWHERE if body == name}
    assert {path for path in exceptions if path not in fields or path in answered} == set()
