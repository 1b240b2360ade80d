"""The embedding model of the local stack: USE multilingual v3, served to litellm in this process.

``LitellmEmbedder(MODEL, DIMENSIONS, query_params=QUERY_PARAMS, passage_params=PASSAGE_PARAMS,
prepare=register)`` is what the local stack runs. Importing this package imports neither numpy,
litellm nor the model.
"""

from __future__ import annotations

from local.blas import limit_blas_threads
from local.embedding.registration import (
    DIMENSIONS,
    MODEL,
    PASSAGE_PARAMS,
    QUERY_PARAMS,
    register,
)

__all__ = [
    "DIMENSIONS",
    "MODEL",
    "PASSAGE_PARAMS",
    "QUERY_PARAMS",
    "limit_blas_threads",
    "register",
]
