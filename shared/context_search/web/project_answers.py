"""The answer of a project search."""

from __future__ import annotations

from context_search.domain.search import Hit
from context_search.domain.text.snippets import snippet
from context_search.services.searching.labels import Label
from context_search.services.searching.search_project import ProjectPage
from context_search.web.answers import chunk_answer, retrieval
from context_search.web.explain import breakdown


def project_answer(page: ProjectPage) -> dict[str, object]:
    """Returns the body of a page."""
    answer = page.answer
    results = [_result(hit, page.labels[hit.chunk.id], answer.query) for hit in answer.hits]
    body: dict[str, object] = {
        "query": answer.query,
        "results": results,
        "hasMore": page.cursor is not None,
        "cursor": page.cursor,
        "truncated": page.truncated,
        "counts": {"ranked": answer.ranked, "hidden": page.hidden, "gone": answer.gone},
        "retrieval": retrieval(answer),
        "index": {"status": answer.target.status},
    }
    if page.hint is not None:
        body["hint"] = page.hint
    return body


def _result(hit: Hit, label: Label, query: str) -> dict[str, object]:
    shown = snippet(hit.chunk.chunk_text, query)
    result: dict[str, object] = {
        "score": round(hit.score, 6),
        "relevance": round(hit.relevance, 4),
        "scoreBreakdown": breakdown(hit.evidence) if hit.evidence else None,
        "title": label.title,
        "type": label.type,
        "updatedAt": hit.chunk.changed_at.isoformat(),
        "json_path": hit.json_path,
        "snippet": shown.text,
        "highlights": [{"start": start, "end": end} for start, end in shown.highlights],
        "chunk": chunk_answer(hit.chunk, with_metadata=True),
    }
    if hit.chunk.stale:
        result["stale"] = True
    return result
