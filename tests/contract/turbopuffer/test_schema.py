"""The schema: declared whole, shown, added to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.turbopuffer.targets import COSINE, SCHEMA, Namespace, Target, found, upsert

ROW = {"id": "2", "vector": [1.0, 0.0]}
PRE_TOKENIZED = {"tokenizer": "pre_tokenized_array"}


def test_the_schema_shows_how_attributes_are_indexed(namespace: Namespace, target: Target) -> None:
    upsert(namespace, {"id": "1"})
    schema = target.http.get(f"/v1/namespaces/{namespace.id}/schema").json()
    types = {name: attribute["type"] for name, attribute in schema.items()}
    assert types == {"id": "string"} | {name: reported["type"] for name, reported in SCHEMA.items()}
    filterable = {name for name, attribute in schema.items() if attribute["filterable"]}
    assert filterable - {"id"} == {"tags", "n", "at"}
    assert schema["content"]["full_text_search"]["tokenizer"] == "pre_tokenized_array"
    assert schema["vector"]["ann"]


def test_the_schema_is_null_where_a_kind_of_index_cannot_be(
    namespace: Namespace, target: Target
) -> None:
    upsert(namespace, {"id": "1"})
    schema = target.http.get(f"/v1/namespaces/{namespace.id}/schema").json()
    assert schema["id"] == {"type": "string", "filterable": None, "full_text_search": None}
    vector = {"type": "[2]f32", "ann": True, "filterable": None, "full_text_search": None}
    assert schema["vector"] == vector
    assert schema["n"] == {"type": "int", "filterable": True, "full_text_search": None}


def test_attributes_can_be_added_later(namespace: Namespace) -> None:
    upsert(namespace, {"id": "1"})
    more = {
        "later": {"type": "int"},
        "words": {"type": "[]string", "full_text_search": PRE_TOKENIZED},
    }
    namespace.write(upsert_rows=[{**ROW, "later": 5, "words": ["x"]}], schema=SCHEMA | more)
    assert found(namespace, ("later", "In", [0, 5])) == ["2"]
    rows = namespace.query(rank_by=("words", "BM25", ["x"]), limit=9).rows or []
    assert [row.id for row in rows] == ["2"]


@pytest.mark.parametrize(
    ("schema", "named"),
    [
        ({"n": {"type": "[]string"}}, "n"),
        ({"n": {"type": "int", "filterable": False}}, "n"),
        ({"vector": {"type": "[3]f32", "ann": True}}, "vector"),
        ({"id": {"type": "uint"}}, "id"),
        ({"other": {"type": "[2]f32", "ann": True}}, "other"),
        ({"x": {"type": "[2]f32"}}, "x"),
        ({"x": {"type": "int", "ann": True}}, "x"),
        ({"x": {"type": "float"}}, "float"),
        ({"x": {"type": "bool"}}, "bool"),
        ({"x": {"type": "uuid"}}, "uuid"),
        ({"x": {"type": "[]int"}}, "[]int"),
        ({"x": {"type": "[2]i8", "ann": True}}, "[2]i8"),
        ({"x": {"type": "int", "full_text_search": PRE_TOKENIZED}}, "x"),
        ({"x": {"type": "string", "full_text_search": {"tokenizer": "word_v4"}}}, "tokenizer"),
        ({"x": {"type": "[]string", "full_text_search": PRE_TOKENIZED | {"k1": 2.0}}}, "k1"),
        ({"x": {"type": "string", "glob": True}}, "glob"),
        ({"x": {"type": "string", "regex": True}}, "regex"),
        ({"$x": {"type": "string"}}, "$x"),
    ],
    ids=str,
)
def test_a_schema_that_cannot_be_is_refused_by_name(
    namespace: Namespace, target: Target, schema: dict[str, Any], named: str
) -> None:
    if not target.is_local:
        pytest.skip("the service can do a part of it")
    upsert(namespace, {"id": "1"})
    before = namespace.schema()
    body = {"schema": schema, "upsert_rows": [ROW]}
    answer = target.post(f"/v2/namespaces/{namespace.id}", json=body)
    assert answer.status_code == 400
    assert named in answer.json()["error"]
    assert namespace.schema() == before


@pytest.mark.parametrize("schema", [{"x": {"filterable": True}}, {"x": "string"}, []], ids=str)
def test_a_declaration_of_another_shape_is_malformed(
    namespace: Namespace, target: Target, schema: Any
) -> None:
    if not target.is_local:
        pytest.skip("the service has a shorthand")
    upsert(namespace, {"id": "1"})
    body = {"schema": schema, "upsert_rows": [ROW]}
    assert target.post(f"/v2/namespaces/{namespace.id}", json=body).status_code == 422


def test_the_first_write_names_the_metric_and_the_vector(
    namespace: Namespace, target: Target
) -> None:
    target.refuses(lambda: namespace.write(upsert_rows=[ROW], schema=SCHEMA), 400)
    if target.is_local:
        target.refuses(
            lambda: namespace.write(
                upsert_rows=[ROW], schema={"n": {"type": "int"}}, distance_metric=COSINE
            ),
            400,
        )
    assert not namespace.exists()
    upsert(namespace, ROW)
    namespace.write(upsert_rows=[ROW])
    assert namespace.exists()
