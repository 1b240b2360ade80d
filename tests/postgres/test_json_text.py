"""What Postgres makes of JSON: its size, the order of its strings, and how it is written."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_search.catalog.rules.document_text import document_text
from context_search.core.json_pointer import document_order, join
from context_search.postgres.pool import Database
from tests.profile import examples

KEYS = st.text("ab/~1 2é中😀", max_size=4)
VALUES = st.recursive(
    st.just("text"), lambda inner: st.lists(inner, max_size=12) | st.dictionaries(KEYS, inner)
)


def pointers(value: object, *above: str) -> Iterator[str]:
    """Where the strings of a document are, as it is read."""
    if isinstance(value, str):
        yield join(above)
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from pointers(member, *above, key)
    elif isinstance(value, list):
        for number, element in enumerate(value):
            yield from pointers(element, *above, str(number))


@given(value=VALUES)
@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pointers_sort_as_the_document_is_read(module_database: Database, value: object) -> None:
    with module_database.transaction() as tx:
        [[stored]] = tx.run("SELECT CAST(CAST(:it AS jsonb) AS text)", it=json.dumps(value))
    found = list(pointers(json.loads(stored)))
    assert sorted(sorted(found), key=document_order) == found


ANY_VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0")),
    lambda inner: st.lists(inner) | st.dictionaries(st.just("k") | st.sampled_from("ab中"), inner),
)


@given(value=ANY_VALUE)
@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_size_is_never_over_the_true_one(module_database: Database, value: object) -> None:
    text = json.dumps(value)
    with module_database.transaction() as tx:
        [[size]] = tx.run("SELECT pg_column_size(CAST(:text AS jsonb))", text=text)
    assert document_text(text.encode(), "json", size) == text


CHARACTERS = [chr(code) for code in range(1, 0x10000) if not 0xD800 <= code < 0xE000]


def test_postgres_escapes_what_we_escape(module_database: Database) -> None:
    with module_database.transaction() as tx:
        [[text]] = tx.run("SELECT CAST(CAST(:text AS jsonb) AS text)", text=json.dumps(CHARACTERS))
    assert text == json.dumps(CHARACTERS, ensure_ascii=False)
