"""The schema: declared, inferred, shown, changed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.turbopuffer.targets import Namespace, Target, found, ids


def shown(target: Target, namespace: Namespace) -> dict[str, Any]:
    answer: dict[str, Any] = target.http.get(f"/v1/namespaces/{namespace.id}/schema").json()
    return answer


def test_types_are_inferred_from_the_first_documents(namespace: Namespace, target: Target) -> None:
    namespace.write(
        upsert_rows=[
            {"id": "a", "vector": [0.5, 1.0]},
            {"id": "b", "vector": [0.5, 2.0], "s": "x", "i": 1, "o": True, "ss": ["x"], "ii": [1]},
        ],
        distance_metric="cosine_distance",
    )
    types = {name: options["type"] for name, options in shown(target, namespace).items()}
    assert types == {
        "id": "string",
        "vector": "[2]f32",
        "s": "string",
        "i": "int",
        "o": "bool",
        "ss": "[]string",
        "ii": "[]int",
    }


def test_the_schema_shows_how_attributes_are_indexed(namespace: Namespace, target: Target) -> None:
    namespace.write(
        upsert_rows=[{"id": 1, "v": [1.0, 0.0]}],
        schema={
            "v": {"type": "[2]f32", "ann": True},
            "plain": "string",
            "raw": {"type": "string", "filterable": False},
            "glob": {"type": "string", "glob": True},
            "text": {"type": "string", "full_text_search": True},
            "both": {"type": "string", "full_text_search": True, "filterable": True},
        },
        distance_metric="cosine_distance",
    )
    schema = shown(target, namespace)
    assert schema["id"] == {"type": "uint", "filterable": None, "full_text_search": None}
    assert schema["v"]["ann"] is True
    filterable = {name for name, options in schema.items() if options["filterable"]}
    assert filterable == {"plain", "both"}
    assert schema["glob"]["glob"] is True
    assert schema["text"]["full_text_search"]["tokenizer"] == "word_v4"
    metadata = target.http.get(f"/v1/namespaces/{namespace.id}/metadata").json()
    assert metadata["schema"]["v"]["ann"] == {"distance_metric": "cosine_distance"}
    assert "full_text_search" not in metadata["schema"]["plain"]


def test_attributes_can_be_added_later(namespace: Namespace) -> None:
    namespace.write(upsert_rows=[{"id": 1, "old": "x"}])
    schema = namespace.update_schema(schema={"new": "int"})
    assert schema["new"].type == "int"
    namespace.write(upsert_rows=[{"id": 2, "new": 5, "inferred": "y"}])
    assert found(namespace, ("new", "Eq", None)) == [1]
    assert found(namespace, ("inferred", "Eq", "y")) == [2]


def test_an_attribute_becomes_searchable_by_a_schema_change(namespace: Namespace) -> None:
    namespace.write(
        upsert_rows=[{"id": 1, "text": "red fox"}, {"id": 2, "text": "dog"}],
        schema={"text": {"type": "string", "filterable": False}},
    )
    namespace.update_schema(
        schema={"text": {"type": "string", "full_text_search": True, "filterable": True}}
    )
    assert ids(namespace.query(rank_by=("text", "BM25", "fox"), limit=9)) == [1]
    assert found(namespace, ("text", "Eq", "dog")) == [2]


def test_an_object_keeps_options_and_the_shorthand_resets_them(
    namespace: Namespace, target: Target
) -> None:
    namespace.write(
        upsert_rows=[{"id": 1, "text": "fox"}],
        schema={"text": {"type": "string", "full_text_search": {"k1": 2.0, "b": 0.2}}},
    )
    path = f"/v1/namespaces/{namespace.id}/schema"
    kept = target.post(path, json={"text": {"type": "string", "glob": True}}).json()["text"]
    assert (kept["full_text_search"]["k1"], kept["glob"]) == (2.0, True)
    merged = target.post(
        path, json={"text": {"type": "string", "full_text_search": {"k1": 1.5}}}
    ).json()["text"]["full_text_search"]
    assert (merged["k1"], merged["b"]) == (1.5, 0.2)
    reset = target.post(path, json={"text": "string"}).json()["text"]
    assert (reset["full_text_search"], reset["filterable"]) == (None, False)


@pytest.mark.parametrize(
    "schema",
    [
        {"old": "int"},
        {"old": "[]string"},
        {"v": {"type": "[2]f32", "ann": True}},
        {"x": {"type": "[2]f32"}},
        {"x": "nonsense"},
        {"x": {"type": "int", "full_text_search": True}},
        {"x": {"type": "int", "glob": True}},
        {"x": {"type": "string", "full_text_search": {"tokenizer": "pre_tokenized_array"}}},
        {"x": {"type": "string", "full_text_search": {"b": 1.5}}},
        {
            "x": {
                "type": "[]string",
                "full_text_search": {"tokenizer": "pre_tokenized_array", "stemming": True},
            }
        },
        {"$x": "string"},
        {"x" * 129: "string"},
        {"é" * 65: "string"},
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_schema_that_cannot_be_is_refused(
    namespace: Namespace, target: Target, schema: dict[str, Any]
) -> None:
    namespace.write(upsert_rows=[{"id": 1, "old": "x"}])
    target.refuses(lambda: namespace.write(schema=schema, upsert_rows=[{"id": 2}]), 400)
    target.refuses(lambda: namespace.update_schema(schema=schema), 400)
    assert set(namespace.schema()) == {"id", "old"}


def test_a_declaration_without_a_type_is_malformed(namespace: Namespace, target: Target) -> None:
    namespace.write(upsert_rows=[{"id": 1}])
    path = f"/v1/namespaces/{namespace.id}/schema"
    bodies: list[Any] = [{"x": {"filterable": True}}, {"schema": {"x": "string"}}, []]
    for body in bodies:
        target.check_status(target.post(path, json=body).status_code, 422)


def test_the_distance_metric_is_set_once(namespace: Namespace, target: Target) -> None:
    rows = [{"id": 1, "vector": [1.0, 2.0]}]
    target.refuses(lambda: namespace.write(upsert_rows=rows), 400)
    assert not namespace.exists()
    namespace.write(upsert_rows=rows, distance_metric="cosine_distance")
    namespace.write(upsert_rows=rows, distance_metric="cosine_distance")
    namespace.write(upsert_rows=rows)
    target.refuses(
        lambda: namespace.write(upsert_rows=rows, distance_metric="euclidean_squared"), 400
    )


def test_a_namespace_without_vectors_never_gets_them(namespace: Namespace, target: Target) -> None:
    namespace.write(upsert_rows=[{"id": 1, "n": 1}])
    target.refuses(
        lambda: namespace.write(
            upsert_rows=[{"id": 2, "vector": [1.0, 2.0]}], distance_metric="cosine_distance"
        ),
        400,
    )
