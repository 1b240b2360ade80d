"""Retrieval settings as they are stored."""

from __future__ import annotations

import json

import pytest

from context_search.searching.rules.retrieval import RetrievalSettings
from context_search.text.sensitive.kinds import SENSITIVE_KINDS


@pytest.mark.parametrize(
    "settings",
    [
        RetrievalSettings(),
        RetrievalSettings(kinds=()),
        RetrievalSettings(9, 0.25, 77, 3, redaction=False, kinds=("email", "iban")),
        RetrievalSettings(kinds=("key", "email", "phone")),
    ],
)
def test_settings_are_read_as_they_were_written(settings: RetrievalSettings) -> None:
    assert RetrievalSettings.from_mapping(json.loads(settings.to_json())) == settings


def test_a_project_that_chose_no_kinds_hides_those_that_are_new() -> None:
    assert RetrievalSettings.from_mapping({"top_k": 7, "later": 1}).kinds == SENSITIVE_KINDS
    assert "kinds" not in json.loads(RetrievalSettings(top_k=7).to_json())


def test_a_project_that_chose_some_kinds_keeps_its_choice() -> None:
    assert RetrievalSettings.from_mapping({"kinds": ["email"]}).kinds == ("email",)
    assert RetrievalSettings.from_mapping({"kinds": []}).kinds == ()
