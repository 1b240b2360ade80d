"""The use cases of all functions in one process."""

from __future__ import annotations

from context_search.composition.cleanup import CleanupFunction
from context_search.composition.create_tool import CreateToolFunction
from context_search.composition.index_node import IndexNodeFunction
from context_search.composition.search import SearchFunction


class EveryUseCase(CreateToolFunction, SearchFunction, IndexNodeFunction, CleanupFunction):
    """What all functions do with the same parts."""
