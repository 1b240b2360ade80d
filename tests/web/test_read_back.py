"""What a request sets can be read back: each field of its body is in an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from context_search.web.fields import AnswerModel, Body
from context_search.web.openapi import every_router

every_router()  # all of them are loaded

# A body that sets something → what a GET of it answers.
READ_BY: dict[str, tuple[str, ...]] = {
    "CreateProjectBody": ("ListedProjectAnswer", "WhoAmIAnswer.project"),
    "CreateTableBody": ("TableAnswer",),
    "CreateUploadBody": ("UploadAnswer",),
    "CreateSearchToolBody": ("SearchToolAnswer",),
    "ChangeToolBody": ("SearchToolAnswer",),
    "CreateMcpBody": ("McpAnswer", "NewMcpAnswer", "BindingsAnswer"),
    "ChangeMcpBody": ("McpAnswer",),
    "BindingBody": ("BindingAnswer",),
    "ChangeBindingBody": ("BindingAnswer",),
    "CreateKeyBody": ("KeyAnswer",),
    "CreateMcpKeyBody": ("KeyAnswer",),
    "ProjectIndexBody": ("ProjectIndexAnswer",),
    "JudgedSetBody": ("WholeJudgedSetAnswer",),
    "HistorySettingsBody": ("HistorySettingsAnswer",),
    "SettingsBody": ("RetrievalSettingsAnswer",),
    "LabelBody": ("VersionAnswer",),
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
# A body that sets nothing, or what it is a part of.
SETS_NOTHING = {
    **dict.fromkeys(
        ["SearchBody", "ExplainBody", "ProjectSearchBody", "ProjectExplainBody", "RetrieveBody"],
        "a question",
    ),
    "MeasuresBody": "answers are measured, not kept",
    **dict.fromkeys(["ReadBody", "OutlineBody", "TextBody", "ChunksBody"], "reads"),
    **dict.fromkeys(["ReplaceBody", "MergeBody", "RemoveBody"], "changes the document itself"),
    **dict.fromkeys(["PreviewBody", "ExecuteBody", "UndoBody"], "a plan: its texts are forgotten"),
    **dict.fromkeys(
        ["RotateKeyBody", "RetryBody", "ProjectRetryBody", "SignInBody"], "does something once"
    ),
    **dict.fromkeys(
        [
            "SearchConfigBody",
            "ChangeSearchConfigBody",
            "RankingBody",
            "RerankBody",
            "RedactionBody",
            "RangeBody",
            "AnsweredBody",
        ],
        "a part of others",
    ),
    "CamelBody": "the base of some",
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


def shown(answers: tuple[str, ...]) -> set[str]:
    found = set[str]()
    for answer in answers:
        name, _, part = answer.partition(".")
        every = [*paths(ANSWERS[name])]
        found |= {path.removeprefix(f"{part}.") for path in every if path.startswith(part)}
    return found


def test_every_body_is_known_to_set_something_or_not() -> None:
    assert {*BODIES} == {*READ_BY} | {*SETS_NOTHING}
    assert not {*READ_BY} & {*SETS_NOTHING}


@pytest.mark.parametrize("name", sorted(READ_BY))
def test_what_a_body_sets_is_in_an_answer(name: str) -> None:
    fields, answered = [*paths(BODIES[name])], shown(READ_BY[name])
    said = {path: ELSEWHERE.get((name, path), path) for path in fields}
    assert {path for path, place in said.items() if place and place not in answered} == set()
    exceptions = {path for body, path in ELSEWHERE if body == name}
    assert {path for path in exceptions if path not in fields or path in answered} == set()
