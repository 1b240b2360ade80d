"""litellm's custom provider ``local``: the shared model of this process behind its interface."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING, Any

from local.embedding.encoder import TwoSpeedEncoder
from local.embedding.faults import FaultSwitch, ProviderError, before_reply, spoil
from local.embedding.registration import MODEL, PROVIDER

if TYPE_CHECKING:
    from collections.abc import Sequence

_loading = threading.Lock()


@cache
def _load() -> TwoSpeedEncoder:
    return TwoSpeedEncoder()


def shared_encoder() -> TwoSpeedEncoder:
    """The one encoder of this process, loaded by the first caller (0.8 s)."""
    with _loading:
        return _load()


class LocalProvider:
    """Answers ``litellm.embedding`` with ``input_type`` ``query`` or ``passage``."""

    def __init__(self, faults: FaultSwitch | None = None) -> None:
        self._faults = faults

    def embedding(
        self,
        *,
        model: str,
        input: Sequence[str] | str,  # noqa: A002 litellm's name
        model_response: Any,
        optional_params: dict[str, Any],
        timeout: float | None = None,
        **_more: Any,  # litellm passes everything it has, by name
    ) -> Any:
        """Fill and return litellm's response; raises ProviderError (400, 404, or a fault's)."""
        if f"{PROVIDER}/{model}" != MODEL:
            raise ProviderError(404, "no such model")
        fault = None if self._faults is None else self._faults.current()
        if fault is not None:
            before_reply(fault, timeout)
        texts = [input] if isinstance(input, str) else input
        items = _items(texts, optional_params.get("input_type"))
        model_response.model = MODEL
        model_response.data = items if fault is None else spoil(items, fault)
        return model_response


def _items(texts: Sequence[str], input_type: object) -> list[dict[str, object]]:
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
