"""A namespace that somebody deletes behind our back: noticed, said, written again, equal."""

from __future__ import annotations

from typing import Any

import pytest

from context_search.composition.parts import parts
from context_search.core.errors import NamespaceMissingError
from tests.builders import english
from tests.functions.deployment import Deployment

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words", "log")]


def healed(deployed: Deployment) -> dict[str, Any]:
    """One run of cleanup and the work that it orders."""
    report = deployed.clean_up()
    deployed.drain()
    return report


@pytest.mark.parametrize("by", ["search", "canary"])
def test_a_deleted_namespace_is_noticed_and_written_again(deployed: Deployment, by: str) -> None:
    tool = deployed.tool({"a": english(900), "b": english(400, 2)})
    deployed.drain()
    healed(deployed)
    namespace = tool["namespace"]
    before, found = deployed.documents(namespace), deployed.search(tool)
    assert before
    assert found["results"]

    parts().vectors.delete_namespace(namespace)
    with pytest.raises(NamespaceMissingError):
        deployed.documents(namespace)
    if by == "search":
        # Just compared: without the search nobody would look again for 180 seconds.
        answer = deployed.search(tool)
        assert "namespace_missing" in answer["retrieval"]["degraded"]
    else:
        deployed.sql(
            "UPDATE index_generation SET swept_at = swept_at - interval '200 s'"
            " WHERE namespace = :name RETURNING id",
            name=namespace,
        )
    report = healed(deployed)
    assert report["missing_requeued"] == len(before)
    assert deployed.documents(namespace) == before
    assert deployed.search(tool) == found
    reported = deployed.search_index(tool)
    assert (reported["status"], reported["not_indexed"]) == ("ready", [])
    assert reported["indexed_chunks_count"] == reported["chunks_count"] == len(before)
    assert reported["integrity"]["missing"] == len(before)


def test_one_lost_document_comes_back_with_the_next_comparison(deployed: Deployment) -> None:
    tool = deployed.tool({"a": english(900, 5)})
    deployed.drain()
    healed(deployed)
    before = deployed.documents(tool["namespace"])
    parts().vectors.delete(tool["namespace"], before[:1])
    deployed.sql("UPDATE index_generation SET swept_at = NULL RETURNING id")
    assert healed(deployed)["missing_requeued"] == 1
    assert deployed.documents(tool["namespace"]) == before
