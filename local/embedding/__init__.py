"""The embedding model of the local stack: USE multilingual v3, served to litellm in this process.

``LitellmEmbedder(MODEL, DIMENSIONS, query_params=QUERY_PARAMS, passage_params=PASSAGE_PARAMS,
prepare=register)`` is what the local stack runs. Importing this package imports neither numpy,
litellm nor the model.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType

from context_search.integrations.models.litellm_embedder import import_litellm
from local.blas import limit_blas_threads

PROVIDER = "local"
MODEL = "local/use-multilingual-v3"
DIMENSIONS = 512
QUERY_PARAMS: Mapping[str, object] = MappingProxyType({"input_type": "query"})
PASSAGE_PARAMS: Mapping[str, object] = MappingProxyType({"input_type": "passage"})


def register() -> None:
    """Make ``litellm.embedding(model=MODEL, ...)`` work in this process.

    The model itself (0.8 s, 150 MB) is loaded by the first embedding.
    """
    limit_blas_threads()
    litellm = import_litellm()
    provider = importlib.import_module("local.embedding.provider").LocalProvider()
    others = [entry for entry in litellm.custom_provider_map if entry["provider"] != PROVIDER]
    litellm.custom_provider_map = [*others, {"provider": PROVIDER, "custom_handler": provider}]
