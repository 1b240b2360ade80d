"""Which client asks which model."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import Any

from context_search.core.config import IndexConfig
from context_search.integrations.live_settings import LiveSettings
from context_search.integrations.models.litellm_embedder import LitellmEmbedder
from context_search.integrations.models.litellm_reranker import LitellmReranker
from context_search.integrations.models.openai_embedder import OpenAiEmbedder, Route, may_be_asked
from context_search.integrations.ports import Embedder, OnBilled, Reranker


def embedder(config: IndexConfig, live: LiveSettings, on_billed: OnBilled) -> Embedder:
    """The embedding model of an index. litellm, seconds of import, asks where nobody else can."""
    settings = live.settings
    more: dict[str, Any] = {
        "query_params": settings.embedding_query_params,
        "passage_params": settings.embedding_passage_params,
        "api_key": settings.embedding_api_key,
        "instead_of": partial(live.instead_of, attrgetter("embedding_api_key")),
        "on_billed": on_billed,
    }
    api_base, has_key = settings.embedding_api_base, settings.embedding_api_key is not None
    route = Route.of(config.model, api_base, has_key=has_key)
    params = (settings.embedding_query_params, settings.embedding_passage_params)
    if route is not None and all(map(may_be_asked, params)):
        return OpenAiEmbedder(config.model, config.dimensions, route=route, **more)
    return LitellmEmbedder(config.model, config.dimensions, api_base=api_base, **more)


def reranker(model: str, live: LiveSettings, on_billed: OnBilled) -> Reranker:
    """A reranking model."""
    return LitellmReranker(
        model,
        api_key=live.settings.rerank_api_key,
        api_base=live.settings.rerank_api_base,
        instead_of=partial(live.instead_of, attrgetter("rerank_api_key")),
        on_billed=on_billed,
    )
