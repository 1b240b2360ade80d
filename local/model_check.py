"""Asks a model of the user's for one vector, before anything is indexed with it."""

from __future__ import annotations

from context_search.composition.parts import Parts
from context_search.core.config import IndexConfig
from context_search.core.errors import EmbeddingDimensionMismatchError, EmbeddingError
from context_search.settings import Settings
from local.state import StackError

_TIMEOUT_S = 10.0


def check_model(settings: Settings) -> str | None:
    """Returns why the model did not answer, which it may do later; None when it did.

    Raises StackError when its vectors have another length than the settings say.
    """
    model, dimensions = settings.embedding_model, settings.embedding_dimensions
    embedder = Parts(settings).embedder_of(IndexConfig(model, dimensions))
    try:
        embedder.embed_query("How long is a vector?", timeout_s=_TIMEOUT_S)
    except EmbeddingDimensionMismatchError as error:
        if error.found is None:
            return f"the model {model} gives no usable answer: {error}"
        raise StackError(
            f"EMBEDDING_DIMENSIONS is {dimensions}, but the model {model} answers "
            f"{error.found} numbers: set EMBEDDING_DIMENSIONS={error.found}"
        ) from error
    except EmbeddingError as error:
        return f"the model {model} does not answer now: {error.code}: {error}"
    return None
