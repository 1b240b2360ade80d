"""litellm's custom provider ``local``: the shared model of this process behind its interface."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

from local.embedding import MODEL, PROVIDER
from local.embedding.encoder import TwoSpeedEncoder

_loading = threading.Lock()


@cache
def _load() -> TwoSpeedEncoder:
    return TwoSpeedEncoder()


def shared_encoder() -> TwoSpeedEncoder:
    """The one encoder of this process, loaded by the first caller (0.8 s)."""
    with _loading:
        return _load()


class ProviderError(Exception):
    """What the provider answers instead of vectors; litellm maps it by its status."""

    def __init__(self, status_code: int, message: str) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.message = message


class LocalProvider:
    """Answers ``litellm.embedding`` with ``input_type`` ``query`` or ``passage``."""

    def embedding(
        self,
        *,
        model: str,
        input: Sequence[str] | str,  # noqa: A002 litellm's name
        model_response: Any,
        optional_params: dict[str, Any],
        **_more: Any,  # litellm passes everything it has, by name
    ) -> Any:
        """Fill and return litellm's response; raises ProviderError (400, 404)."""
        if f"{PROVIDER}/{model}" != MODEL:
            raise ProviderError(404, "no such model")
        texts = [input] if isinstance(input, str) else input
        model_response.model = MODEL
        model_response.data = vectors_of(texts, optional_params.get("input_type"))
        return model_response


def vectors_of(texts: Sequence[str], input_type: object) -> list[dict[str, object]]:
    """The ``data`` of OpenAI's answer, in the order of the texts. Raises ProviderError (400)."""
    encoder = shared_encoder()
    if input_type == "query":
        vectors = encoder.encode_queries(texts)
    elif input_type == "passage":
        vectors = encoder.encode_passages(texts)
    else:
        raise ProviderError(400, "input_type must be query or passage")
    # Plain dicts: litellm keeps them as they are, where its Embedding class would be validated.
    return [
        {"object": "embedding", "index": index, "embedding": vector}
        for index, vector in enumerate(vectors.tolist())
    ]
