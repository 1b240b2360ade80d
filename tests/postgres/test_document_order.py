"""The order of pointers is that of a document's strings in Postgres."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
