"""A custom provider of litellm whose answers a test writes."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from context_search.integrations.models.litellm_embedder import LitellmEmbedder
from context_search.integrations.ports import Embedder

CANARY = "canary-7f3a the patient's diagnosis"
KEY = "sk-canary-secret-key"
ScriptedReply = Callable[[dict[str, Any]], Any]


def vector(seed: int) -> list[float]:
    return [float(seed), 0.5, -0.25]


def item(index: int, embedding: Any = None) -> dict[str, Any]:
    return {"index": index, "embedding": vector(index) if embedding is None else embedding}


def echo(call: dict[str, Any]) -> list[dict[str, Any]]:
    """A healthy provider: the vector says which text it is for."""
    return [item(i, vector(len(text))) for i, text in enumerate(call["input"])]


def scripted(
    answer: ScriptedReply, calls: list[dict[str, Any]] | None = None
) -> Callable[[], None]:
    """What to ``prepare``: litellm's custom provider ``scripted`` answers with ``answer``."""

    def register() -> None:
        litellm: Any = importlib.import_module("litellm")

        class Provider(litellm.CustomLLM):  # type: ignore[misc]
            def embedding(self, **call: Any) -> Any:
                if calls is not None:
                    calls.append(call)
                call["model_response"].data = answer(call)
                return call["model_response"]

        litellm.custom_provider_map = [{"provider": "scripted", "custom_handler": Provider()}]

    return register


def embedder(
    answer: ScriptedReply, calls: list[dict[str, Any]] | None = None, **more: Any
) -> Embedder:
    return LitellmEmbedder("scripted/model", 3, prepare=scripted(answer, calls), **more)
