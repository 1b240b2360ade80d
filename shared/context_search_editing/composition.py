"""What is replaced in documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from context_search.live_settings import LiveSettings
from context_search.store import Store

if TYPE_CHECKING:
    from context_search.catalog.record_versions import RecordVersions
    from context_search_editing.agents.replace_tools import ReplaceTools
    from context_search_editing.agents.replacing import ReplaceUseCases
    from context_search_editing.executing import CarryOutPlans, ExecutePlans
    from context_search_editing.ports.patterns import Patterns
    from context_search_editing.previewing import PreviewReplacements, ShowMatches
    from context_search_editing.undoing import UndoPlans
    from context_search_editing.write_documents import WriteDocuments


@dataclass(frozen=True)
class EditingParts:
    """The use cases of editing, each made on first use.

    ``live`` has the present secrets, ``patient`` is the store with time for a large document.
    """

    store: Store
    live: LiveSettings
    patient: Store
    hash_of: Callable[[str], str]

    @cached_property
    def patterns(self) -> Patterns:
        """RE2; its process starts with the first pattern."""
        from context_search_editing.integrations.re2_patterns import Re2Patterns  # noqa: PLC0415

        return Re2Patterns()

    @cached_property
    def preview(self) -> PreviewReplacements:
        """Previews, and the plans that they make."""
        from context_search_editing.previewing import (  # noqa: PLC0415
            MAX_DOCUMENT_BYTES,
            PreviewLimits,
            PreviewReplacements,
        )

        most = min(MAX_DOCUMENT_BYTES, self.longest_document)
        return PreviewReplacements(
            self.store,
            self.patient,
            self.patterns,
            self.hash_of,
            self.live.clock,
            PreviewLimits(document_bytes=most),
        )

    @cached_property
    def matches(self) -> ShowMatches:
        """The matches of plans."""
        from context_search_editing.previewing import ShowMatches  # noqa: PLC0415

        return ShowMatches(self.store, self.patterns, self.live.clock)

    @cached_property
    def execute(self) -> ExecutePlans:
        """Executed plans."""
        from context_search_editing.executing import ExecutePlans  # noqa: PLC0415

        return ExecutePlans(self.store, self.patterns, self.live.clock, self._writer())

    @cached_property
    def undo(self) -> UndoPlans:
        """Undo, and redo."""
        from context_search_editing.undoing import UndoPlans  # noqa: PLC0415

        return UndoPlans(self.store, self.live.clock, self._writer())

    @cached_property
    def carry_out(self) -> CarryOutPlans:
        """The order ``plan``, for documents of any size that the memory has room for."""
        from context_search.catalog.record_versions import RecordVersions  # noqa: PLC0415
        from context_search_editing.executing import CarryOutPlans, OneByOne  # noqa: PLC0415

        writer = self._writer(RecordVersions(self.longest_document))
        documents = OneByOne(self.store, self.patient, writer)
        return CarryOutPlans(
            self.store, self.preview.run, self.execute, self.undo.rewriting, documents
        )

    def _writer(self, recorder: RecordVersions | None = None) -> WriteDocuments:
        from context_search_editing.write_documents import WriteDocuments  # noqa: PLC0415

        usual = WriteDocuments(bounds=self.live.settings.project_bounds)
        return replace(usual, recorder=recorder) if recorder else usual

    @property
    def agent_tools(self) -> ReplaceTools:
        """The tools that agents replace with, over MCP."""
        from context_search_editing.agents.replace_tools import ReplaceTools  # noqa: PLC0415

        return ReplaceTools(lambda: self.agents)

    @property
    def agents(self) -> ReplaceUseCases:
        """What agents replace with, over MCP."""
        from context_search.agents.list_tools import ListTools  # noqa: PLC0415
        from context_search.searching.redact_hits import RedactHits  # noqa: PLC0415
        from context_search_editing.agents.confirmations import Confirmations  # noqa: PLC0415
        from context_search_editing.agents.replacing import ReplaceUseCases  # noqa: PLC0415

        # One secret for two purposes, as for the subjects of tokens.
        key = f"confirmation {self.live.fresh_settings.query_hash_key}"
        return ReplaceUseCases(
            preview=self.preview,
            matches=self.matches,
            execute=self.execute,
            undo=self.undo,
            confirmations=Confirmations(key, self.live.clock),
            tools=ListTools(self.store),
            redaction=RedactHits(self.store),
        )

    @property
    def longest_document(self) -> int:
        """How many bytes a document may have that is changed within the function's memory."""
        from context_search.catalog.rules.uploads import longest_document  # noqa: PLC0415
        from context_search_editing.rules.plans import MEMORY_A_CHANGED_BYTE  # noqa: PLC0415

        return longest_document(self.live.settings.memory_bytes, MEMORY_A_CHANGED_BYTE)
