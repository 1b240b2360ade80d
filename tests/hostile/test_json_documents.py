"""JSON texts at the border: taken and read back, or refused by name; never half."""

from __future__ import annotations

from typing import Any

import pytest

from context_search.core.documents import parse_json
from context_search.core.errors import InvalidDocumentError
from tests.functions.deployment import Deployment
from tests.hostile.json_cases import REFUSED, TAKEN
from tests.hostile.stranger import Stranger

HIDDEN = pytest.mark.usefixtures("words", "log")


@pytest.fixture(scope="module")
def shelf(deployed: Deployment) -> tuple[Stranger, int]:
    """One table for all cases."""
    stranger = Stranger.new(deployed)
    return stranger, stranger.table({})


@HIDDEN
@pytest.mark.parametrize("name", TAKEN)
def test_what_is_sound_is_read_back(shelf: tuple[Stranger, int], name: str) -> None:
    stranger, table_id = shelf
    body, value = TAKEN[name]
    written = stranger.write(table_id, body)
    assert written.status == 200, written.text
    assert stranger.get(table_id).json == value
    inside = stranger.write(table_id, b'{"here": 1}')
    assert inside.status == 200
    assert stranger.write(table_id, body, "/here").status == 200
    assert stranger.get(table_id, "/here").json == value


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_what_is_not_sound_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidDocumentError):
        parse_json(body)


@HIDDEN
@pytest.mark.parametrize(
    "name", ["n_structure_empty", "n_array_unclosed", "n_utf8_truncated", "i_string_nul"]
)
def test_a_refusal_changes_nothing_on_any_way_in(shelf: tuple[Stranger, int], name: str) -> None:
    stranger, table_id = shelf
    body = REFUSED[name]
    before = stranger.write(table_id, b'{"here": "before"}').json["revision"]
    answers = [
        stranger.write(table_id, body),
        stranger.write(table_id, body, "/here"),
        stranger.write(table_id, body, method="PATCH"),
    ]
    if body:
        answers.append(stranger.create(body))
    for answer in answers:
        assert (answer.status, answer.code) == (422, "INVALID_DOCUMENT"), answer.text
    assert stranger.get(table_id).json == {"here": "before"}
    revision: Any = stranger.send("GET", f"/api/v1/tables/{table_id}").json["revision"]
    assert revision == before
