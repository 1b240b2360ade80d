"""No document is refused for its size in Postgres that fits."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_search.catalog.rules.document_text import document_text
from context_search.postgres.pool import Database
from tests.profile import examples

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0")),
    lambda inner: st.lists(inner) | st.dictionaries(st.just("k") | st.sampled_from("ab中"), inner),
)


@given(value=VALUES)
@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_size_is_never_over_the_true_one(module_database: Database, value: object) -> None:
    text = json.dumps(value)
    with module_database.transaction() as tx:
        [[size]] = tx.run("SELECT pg_column_size(CAST(:text AS jsonb))", text=text)
    assert document_text(text.encode(), "json", size) == text
