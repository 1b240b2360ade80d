"""Makes ``litellm.embedding(model="local/use-multilingual-v3", ...)`` work."""

from __future__ import annotations

import importlib
from types import MappingProxyType
from typing import TYPE_CHECKING

from context_search.adapters.litellm_embedder import import_litellm
from local.blas import limit_blas_threads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from local.embedding.faults import FaultSwitch

PROVIDER = "local"
MODEL = "local/use-multilingual-v3"
DIMENSIONS = 512
QUERY_PARAMS: Mapping[str, object] = MappingProxyType({"input_type": "query"})
PASSAGE_PARAMS: Mapping[str, object] = MappingProxyType({"input_type": "passage"})


def register(faults: FaultSwitch | None = None) -> None:
    """Make this process's model litellm's provider ``local``; a second call replaces the first.

    The model itself (0.8 s, 150 MB) is loaded by the first embedding. ``faults`` lets a test make
    the provider misbehave.
    """
    limit_blas_threads()
    litellm = import_litellm()
    provider = importlib.import_module("local.embedding.provider").LocalProvider(faults)
    others = [entry for entry in litellm.custom_provider_map if entry["provider"] != PROVIDER]
    litellm.custom_provider_map = [*others, {"provider": PROVIDER, "custom_handler": provider}]
